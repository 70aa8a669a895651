"""Logins: who is let in, and passwords that are made. Slow hashes are computed elsewhere, one at a time, and in turn.

An Argon2 hash takes 20 ms of a core, so that a flood of wrong passwords is a flood of work. It is bounded: only so many
wait. Each peer and each user has a line of its own, and the lines are served in turn; on overflow the longest line
loses. A password that was right is known for some minutes and costs nothing then. A certificate that TLS has verified
needs no password. Knows no protocol.
"""

import hmac
import logging
import secrets
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pybroker.core.auth.certificate import EXTERNAL, CertificateError, read_certificate
from pybroker.core.auth.password import hash_password, is_slow, octets_of, password_fits
from pybroker.core.events import connections as connection_events
from pybroker.line_limit import LineLimit
from pybroker.log_event import event

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.broker import Broker
    from pybroker.store.worker import Worker
    from pybroker.tls_facts import TlsFacts

# Checks that may wait for the thread: a second and a half of its work.
WAITING_MAX: Final = 64
# For so long a password that was right is not hashed again.
KNOWN_MS: Final = 300_000

INVALID: Final = "invalid credentials"
BLANK: Final = "attempted to log in with a blank password, which is prohibited"
NO_CERTIFICATE: Final = "connection peer presented no TLS (x.509) certificate"
LOCAL_ONLY: Final = "can only connect via localhost"
BUSY: Final = f"{WAITING_MAX} passwords are waiting to be checked; try again in a second"

log = logging.getLogger("pybroker.connection")


class Busy(Exception):
    """So much waits for the thread already that this one has to try again."""


class LoginPeer(Protocol):
    """The peer of a login: a session of any protocol, or a client of the HTTP API. Names as in its log."""

    @property
    def broker(self) -> "Broker":
        """Return the broker that it talks to."""

    @property
    def name(self) -> str:
        """Return what operators know it by."""

    @property
    def protocol(self) -> str:
        """Return the name of the protocol, for people."""

    @property
    def auth_mechanism(self) -> str:
        """Return how it proves who it is."""

    @property
    def host(self) -> str:
        """Return the node's address."""

    @property
    def peer_host(self) -> str:
        """Return its own address."""

    @property
    def peer_port(self) -> int:
        """Return its own port."""

    @property
    def peer_is_local(self) -> bool:
        """Tell whether it is on this machine."""

    @property
    def tls(self) -> "TlsFacts | None":
        """Return what TLS says of it."""

    def log_fields(self) -> dict[str, object]:
        """Return what the log says about it."""


class Verdict(NamedTuple):
    """The user, or None and why; `busy`: nobody has looked at the password."""

    user: "User | None"
    reason: str = ""
    busy: bool = False


class _Task(NamedTuple):
    """`done` gets what the job returns, the exception that ended it, or Busy. Nobody does it if it is not `wanted`."""

    job: Callable[[], Any]
    wanted: Callable[[], bool]
    done: Callable[[Any], None]


class Attempts:
    """How many peers tried to log in."""

    __slots__ = ("failed", "succeeded")

    def __init__(self) -> None:
        self.failed = self.succeeded = 0


class Logins:
    """`worker` is the thread; without one (tests) everything is done at once. Used on the loop alone."""

    __slots__ = ("_broker", "_busy", "_key", "_lines", "_log_lines", "attempts", "waiting", "worker")

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._key = secrets.token_bytes(32)  # nobody outside this life can compare with what is remembered
        self._lines: dict[tuple[str, str], deque[_Task]] = {}  # the next one to be served is first
        self._busy = False
        self._log_lines = LineLimit()
        self.attempts: dict[str, Attempts] = {}  # since the start or the last reset, by protocol
        self.waiting = 0
        self.worker: Worker | None = None

    # -- passwords that come ------------------------------------------------------------------------------------------

    def check(
        self, name: str, password: str, peer: str, wanted: Callable[[], bool], done: Callable[[Verdict], None]
    ) -> None:
        """Find out whether a password is right, and call `done`: at once, or when its turn has come and gone.

        `peer` is where it comes from, `wanted` whether anybody still waits for the answer.
        """
        if not password:
            done(Verdict(None, BLANK))
            return
        algorithm = self._broker.settings.password_hashing
        user, password_hash, algorithm = self._broker.users.asked(name, algorithm)
        if not is_slow(algorithm):
            fits = password_fits(password, password_hash, algorithm)
            done(Verdict(user) if fits and user is not None else Verdict(None, INVALID))
            return
        if user is not None and self._is_known(user, password):
            done(Verdict(user))
            return
        # Names that do not exist share a line: an attacker can think of any number.
        line = (peer, name if user is not None else "")
        job = partial(password_fits, password, password_hash, algorithm)
        answer = partial(self._checked, user, password, password_hash, done)
        if not self._put(line, _Task(job, wanted, answer)):
            answer(Busy(BUSY))

    def check_certificate(self, tls: "TlsFacts | None") -> tuple[str, Verdict]:
        """Return the name that a peer's verified certificate has for its user, empty if none, and the verdict."""
        if tls is None or not tls.certificate:
            return "", Verdict(None, NO_CERTIFICATE)
        try:
            certificate = read_certificate(tls.certificate)
        except CertificateError as error:
            return "", Verdict(None, f"the certificate cannot be read: {str(error)!r:.256}")
        settings = self._broker.settings
        name = certificate.login_name(
            settings.cert_login_from, settings.cert_login_name_type, settings.cert_login_name_index
        )
        if not name:
            subject = f"{certificate.subject!r:.256}"
            return "", Verdict(None, f"no name found by {settings.cert_login_from} in the certificate of {subject}")
        user = self._broker.users.get(name)
        return name, Verdict(None, INVALID) if user is None else Verdict(user)

    def _checked(
        self, user: "User | None", password: str, password_hash: bytes, done: Callable[[Verdict], None], fits: Any
    ) -> None:
        if isinstance(fits, Busy):
            done(Verdict(None, str(fits), busy=True))
        elif isinstance(fits, Exception):
            done(Verdict(None, f"the password could not be checked: {fits}", busy=True))
        elif not fits or user is None:
            done(Verdict(None, INVALID))
        elif self._broker.users.get(user.name) is not user or user.password_hash != password_hash:
            done(Verdict(None, "the password was changed during the login"))
        else:
            user.known_password = self._digest(password), self._broker.clock.now_ms + KNOWN_MS
            done(Verdict(user))

    def _is_known(self, user: "User", password: str) -> bool:
        known = user.known_password
        if known is None:
            return False
        if self._broker.clock.now_ms >= known[1]:
            user.known_password = None
            return False
        return hmac.compare_digest(self._digest(password), known[0])

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, octets_of(password), "sha256")

    # -- passwords that are made --------------------------------------------------------------------------------------

    def hash(self, password: str, done: Callable[[Any], None]) -> str:
        """Have a new password hashed as the node is configured to; return the algorithm's name.

        `done` gets the hash, or an exception: Busy if there is too much to do.
        """
        algorithm = self._broker.settings.password_hashing
        job = partial(hash_password, password, algorithm)
        if not is_slow(algorithm):
            done(job())
        # Commands have a place of their own in the queue, so a flood of logins does not shut them out.
        elif not self._put(("", ""), _Task(job, lambda: True, done)):
            done(Busy(BUSY))
        return algorithm

    # -- what becomes of them ---------------------------------------------------------------------------------------

    def decide(self, verdict: Verdict, name: str, peer: "LoginPeer") -> Verdict:
        """Return the last word on a login: counted, and told to the log, the listeners of events and the audit log.

        A loopback user has to be on this machine.
        """
        if verdict.user is not None and name in self._broker.settings.loopback_users and not peer.peer_is_local:
            verdict = Verdict(None, LOCAL_ONLY)
        if verdict.user is not None:
            self._attempts(peer).succeeded += 1
            connection_events.authenticated(peer, name)
            return verdict
        mechanism = peer.auth_mechanism
        # A certificate may name nobody; a password always comes with a name.
        nobody = mechanism == EXTERNAL and not name
        text = verdict.reason if nobody else f"user {name!r:.256} - {verdict.reason}"
        is_told = self._refused(f"{mechanism} login refused: {text}", peer, name)
        error_text = verdict.reason if nobody else f"user '{name}' - {verdict.reason}"
        connection_events.authenticated(peer, name, error_text, audited=is_told)
        return verdict

    def _refused(self, text: str, peer: "LoginPeer", user_name: str) -> bool:
        """Count and log a login that was refused; of a flood a few lines a second, and then how many there were.

        Return whether it was one of these: the audit log has the same ones.
        """
        self._attempts(peer).failed += 1
        if not self._log_lines.allows():
            return False
        log.error("%s (connection %s)", text, peer.name, extra=event("login.refused", peer, user=user_name))
        return True

    @property
    def succeeded(self) -> int:
        """Return how many logins succeeded."""
        return sum([each.succeeded for each in self.attempts.values()])

    @property
    def failed(self) -> int:
        """Return how many logins failed."""
        return sum([each.failed for each in self.attempts.values()])

    def forget_attempts(self) -> None:
        """Count from zero."""
        self.attempts.clear()

    def _attempts(self, peer: "LoginPeer") -> Attempts:
        return self.attempts.setdefault(peer.protocol, Attempts())

    def tick(self) -> None:
        """Report refusals that were not logged. Called about once a second."""
        if more := self._log_lines.end_second():
            log.error("%d more logins were refused within a second", more, extra=event("login.flood", logins=more))
            connection_events.more_refused(self._broker.events, more)

    # -- the lines ----------------------------------------------------------------------------------------------------

    def _put(self, key: tuple[str, str], task: _Task) -> bool:
        """Put a task into its line, and the last one of the longest out of it if there are too many.

        Return False if that would be this one.
        """
        if self.worker is None:
            task.done(task.job())
            return True
        if self.waiting >= WAITING_MAX:
            longest = max(self._lines, key=lambda each: len(self._lines[each]))
            if len(self._lines.get(key, ())) + 1 >= len(self._lines[longest]):
                return False
            self._pop(longest, last=True).done(Busy(BUSY))
        self._lines.setdefault(key, deque()).append(task)
        self.waiting += 1
        self._next()
        return True

    def _pop(self, key: tuple[str, str], *, last: bool = False) -> _Task:
        """Take a task out of a line, which is the last to be served then."""
        line = self._lines.pop(key)
        task = line.pop() if last else line.popleft()
        if line:
            self._lines[key] = line
        self.waiting -= 1
        return task

    def _next(self) -> None:
        """Give the worker the next task that somebody still wants."""
        while not self._busy and self._lines and self.worker is not None:
            task = self._pop(next(iter(self._lines)))
            if task.wanted():
                self._busy = True
                self.worker.submit(task.job, partial(self._done, task))

    def _done(self, task: _Task, result: Any) -> None:
        self._busy = False
        self._next()  # before what follows: the thread has no reason to wait for that
        task.done(result)
