# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a VM."""


class VmError(Exception):
    """A sentence: what was found, what is needed, what to do."""
