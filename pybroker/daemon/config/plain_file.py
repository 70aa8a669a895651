"""Files that are read while the node runs: never waited for, never to their end if that is far.

A named pipe in a file's place would keep the loop from everybody until somebody writes, and nothing could be stopped.
"""

import errno
import os
import stat
from pathlib import Path


def read_octets(path: Path, octets_max: int | None = None) -> bytes:
    """Return a file's octets, one more than `octets_max` if it has more. Raises OSError.

    Of a device (/dev/null) as much is read; a named pipe or a socket is refused.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(file, "rb") as opened:
        mode = os.fstat(file).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
            raise OSError("not a regular file")
        return opened.read(-1 if octets_max is None else octets_max + 1) or b""
