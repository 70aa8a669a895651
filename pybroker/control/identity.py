"""Identity: the process that asks over the control socket, and the names of its users.

The kernel says which process and user it is, and with which user the session began in which it runs: sudo changes the
former and not the latter. Knows no socket.
"""

import pwd
from pathlib import Path
from typing import Final, NamedTuple

# The login of a process that belongs to no session, as of a service.
NO_LOGIN: Final = (1 << 32) - 1


class Identity(NamedTuple):
    """The asking process, as the kernel names it (SO_PEERCRED)."""

    pid: int
    uid: int
    gid: int

    def called(self, name: str, login: str = "") -> str:
        """Return it for people; `name` is that of its user, `login` that of its session, and each may be unknown."""
        if not name:
            return f"uid {self.uid} (pid {self.pid})"
        who = name if login in {"", name} else f"{login} as {name}"
        return f"{who} (uid {self.uid}, pid {self.pid})"


def login_uid(pid: int) -> int | None:
    """Return the user with whom a process's session began; None if there is none, or the process is gone."""
    try:
        uid = int(Path(f"/proc/{pid}/loginuid").read_text())
    except (OSError, ValueError):
        return None
    return None if uid == NO_LOGIN else uid


def user_name(uid: int) -> str:
    """Return the system's name of a user, or an empty text. Blocks for as long as the system looks."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return ""
