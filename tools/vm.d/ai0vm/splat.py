# SPDX-License-Identifier: Apache-2.0
"""Find what a kernel that is unwell writes to its log."""

import re

_FAULT = re.compile(
    r"WARNING:|BUG:|\bBUG\b at|Oops|kernel panic|Kernel panic|general protection fault|"
    r"KASAN|UBSAN|unable to handle|INFO: task .* blocked|INFO: rcu|soft lockup|hard LOCKUP|"
    r"possible recursive locking|circular locking|inconsistent lock state|"
    r"suspicious RCU usage|suspicious rcu|sleeping function called|scheduling while atomic|"
    r"DMA-API:|unreferenced object|refcount_t:|list_(add|del) corruption|"
    r"ODEBUG:|held lock freed|bad unlock balance|Call Trace:")

# At boot, before ai0 is there, or said by a healthy kernel of itself.
_HEALTHY = re.compile(r"DMA-API: preallocated|DMA-API: debugging enabled|kmemleak: Kernel memory "
                      r"leak detector (initialized|disabled)|DEBUG_LOCKS|kasan: KernelAddress|"
                      r"KASAN: (Kernel|Function)|kmemleak: .*scan")

_AFTER = 60


def find_splat(log: str) -> str:
    """The first report in a kernel log with what follows it, or an empty string."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if _FAULT.search(line) and not _HEALTHY.search(line):
            return "\n".join(lines[max(0, number - 2):number + _AFTER])
    return ""
