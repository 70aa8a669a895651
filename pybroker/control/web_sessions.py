"""Web sessions: handles that stand for users who logged in through pybroker-web, and the end of each.

A handle ends when it was not used for a while, when its time is over, and as soon as its user is deleted or has another
password or other tags. Knows neither sockets nor HTTP.
"""

import secrets
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from pybroker.control.access import ActingUser

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.broker import Broker

# Of the user who has most of them, the one that was idle longest gives way to a new one.
SESSIONS_MAX: Final = 4_096
HANDLE_OCTETS: Final = 32


class _Session:
    """One handle's user, as it was at the login, and the times (ms) that end it."""

    __slots__ = ("acting", "end_ms", "idle_ms", "password_hash", "used_ms", "user")

    def __init__(self, user: "User", acting: ActingUser, now_ms: int, idle_s: int, life_s: int) -> None:
        self.user = user
        self.acting = acting
        self.password_hash = user.password_hash
        self.used_ms = now_ms
        self.idle_ms = 1_000 * idle_s
        self.end_ms = now_ms + 1_000 * life_s


class WebSessions:
    """All of them, by the digests of their handles; the one that was used last is the last."""

    __slots__ = ("_broker", "_sessions")

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._sessions: dict[bytes, _Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, user: "User", address: str, idle_s: int, life_s: int) -> str:
        """Return a new handle for a user who has logged in from an address."""
        now_ms = self._broker.clock.now_ms
        if len(self._sessions) >= SESSIONS_MAX:
            self._remove_ended(now_ms)
        while len(self._sessions) >= SESSIONS_MAX:
            del self._sessions[self._longest_idle()]
        handle = secrets.token_urlsafe(HANDLE_OCTETS)
        acting = ActingUser(user.name, user.tags, f"{user.name} over HTTP from {address}", {"peer_host": address})
        self._sessions[_digest(handle)] = _Session(user, acting, now_ms, idle_s, life_s)
        return handle

    def find(self, handle: str) -> ActingUser | None:
        """Return the user of a handle, which is used by this; None: it has ended, or never was one."""
        digest, now_ms = _digest(handle), self._broker.clock.now_ms
        session = self._sessions.pop(digest, None)
        if session is None or self._has_ended(session, now_ms):
            return None
        session.used_ms = now_ms
        self._sessions[digest] = session
        return session.acting

    def still_stands(self, handle: str) -> bool:
        """Tell whether a handle still stands for its user amid a request, which is no idle time however long."""
        digest, now_ms = _digest(handle), self._broker.clock.now_ms
        session = self._sessions.pop(digest, None)
        if session is None:
            return False
        session.used_ms = now_ms
        self._sessions[digest] = session
        return not self._has_ended(session, now_ms)

    def end(self, handle: str) -> None:
        """Forget a handle, if there is such a one."""
        self._sessions.pop(_digest(handle), None)

    def _longest_idle(self) -> bytes:
        """Return the digest of the session that was idle longest, of those of the user who has most."""
        ((user, _),) = Counter([session.user for session in self._sessions.values()]).most_common(1)
        return next(digest for digest, session in self._sessions.items() if session.user is user)

    def _has_ended(self, session: _Session, now_ms: int) -> bool:
        user = session.user
        return (
            now_ms >= min(session.end_ms, session.used_ms + session.idle_ms)
            or self._broker.users.get(user.name) is not user
            or user.password_hash != session.password_hash
            or user.tags != session.acting.tags
        )

    def _remove_ended(self, now_ms: int) -> None:
        for digest, session in list(self._sessions.items()):
            if self._has_ended(session, now_ms):
                del self._sessions[digest]


def _digest(handle: str) -> bytes:
    # A look-up by the handle itself would tell by its time how much of a guess was right.
    return sha256(handle.encode()).digest()
