"""Why the daemon does not start: one sentence for the operator and an exit code of sysexits.h for the supervisor."""

import errno
import os
from typing import Final

_CODES: Final[dict[int | None, int]] = {
    None: os.EX_UNAVAILABLE,  # one of our own: somebody else has it
    errno.EACCES: os.EX_NOPERM,
    errno.EPERM: os.EX_NOPERM,
    errno.EADDRINUSE: os.EX_UNAVAILABLE,
    errno.EADDRNOTAVAIL: os.EX_UNAVAILABLE,
    errno.EAFNOSUPPORT: os.EX_UNAVAILABLE,
}


class StartError(Exception):
    """`text` is one line, without the program's name; `code` is what the process exits with.

    `problems` has a sentence for each fault, where there may be several.
    """

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.text = text
        self.code = code
        self.problems = [text]


def refused_by_system(what: str, error: OSError, code: int = os.EX_CANTCREAT) -> StartError:
    """Return the StartError for a system call that failed at `what` (`cannot write the log /x`).

    `code` is what it exits with if the system's reason has no code of its own.
    """
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StartError(f"{what}: {reason}", _CODES.get(error.errno, code))
