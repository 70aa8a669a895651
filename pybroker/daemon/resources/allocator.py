"""Give memory back to the system after a backlog was drained: malloc keeps freed blocks in its heap until it is asked.

glibc only; elsewhere it does nothing. Does not know queues: free memory is what malloc calls free.
"""

import ctypes
import logging
from time import monotonic
from typing import Any, Final

from pybroker.log_event import event

# To look lasts up to a millisecond in a heap of some 50 MiB, a tenth of a second where a million pieces of it are free,
# and nobody can allocate meanwhile: a look that lasts is not repeated before so many times as long are over.
LASTING_S: Final = 0.000_2
TIMES_AS_LONG: Final = 5_000
# Freed memory below this is kept: the next burst wants it again.
FREE_OCTETS_MIN: Final = 16_777_216

log = logging.getLogger("pybroker")


class _Mallinfo2(ctypes.Structure):
    """struct mallinfo2 (malloc.h): octets in use and free, by kind; `fordblks` is what is free in the arenas."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


class Allocator:
    """Trims when much has become free and is so at the next look."""

    def __init__(self) -> None:
        self._libc: Any = None
        self._free_last = 0
        self._look_at_s = 0.0  # not before that
        self._returned = 0  # of what malloc calls free: at the last trim, and not used since
        try:
            libc = ctypes.CDLL(None)
            libc.mallinfo2.restype = _Mallinfo2
            libc.malloc_trim.argtypes = (ctypes.c_size_t,)
        except (OSError, AttributeError):
            return
        self._libc = libc

    def free_octets(self) -> int:
        """Return what malloc holds free and has not given back; 0 where it does not tell."""
        if self._libc is None:
            return 0
        free = int(self._libc.mallinfo2().fordblks)
        self._returned = min(self._returned, free)
        return free - self._returned

    def tick(self) -> None:
        """Look at the heap; called about once a second."""
        began_s = monotonic()
        if began_s < self._look_at_s:
            return
        free = self.free_octets()
        took_s = monotonic() - began_s
        if took_s > LASTING_S:
            self._look_at_s = began_s + took_s * TIMES_AS_LONG
        if min(free, self._free_last) >= FREE_OCTETS_MIN:
            self.trim()
        else:
            self._free_last = free

    def trim(self) -> None:
        """Give back what is free: 0.1 ms for each MiB, in which nobody can allocate, not even from another thread."""
        if self._libc is None:
            return
        self._libc.malloc_trim(0)
        self._returned = int(self._libc.mallinfo2().fordblks)
        self._free_last = 0
        log.debug("returned free memory to the system", extra=event("memory.returned"))
