# SPDX-License-Identifier: Apache-2.0
"""What tools/vm is made of."""
