"""Logins: whose request it is, by the password or the cookie that it carries.

The node checks passwords and keeps the sessions. Here is only remembered, for a minute, which session a password has
begun: under a keyed digest, so no password is kept.
"""

import hmac
import ipaddress
import secrets
import socket
import time
from base64 import b64decode
from collections import OrderedDict, deque
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from werkzeug.wrappers import Request

from pybroker.http.errors import LOGIN_ENDED, forbidden, from_refusal, login_failed, too_many
from pybroker.http.node import Node, Refused

KNOWN_S: Final = 60.0
KNOWN_MAX: Final = 1_024
# Of a session that a password in each request began; it is begun anew every minute.
REQUEST_IDLE_S: Final = 120
# Of a session that a person began.
PERSON_IDLE_S: Final = 1_800
FAILURES_MAX: Final = 10
FAILURES_S: Final = 60.0
ADDRESSES_MAX: Final = 10_000
COOKIE: Final = "pybroker-session"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Identity(NamedTuple):
    """A user who is logged in, and the session; `token` is what unsafe requests with a cookie have to bring."""

    name: str
    tags: tuple[str, ...]
    handle: str
    token: str = ""


# Differs from RabbitMQ: it lets anybody guess without a limit.
class Failures:
    """Failed logins of the last minute, by address."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, address: str) -> None:
        """Raise HttpError (429) if an address has failed too often."""
        times, now_s = self._times.get(address), time.monotonic()
        while times and now_s - times[0] >= FAILURES_S:
            times.popleft()
        if times is not None and len(times) >= FAILURES_MAX:
            raise too_many("Too many failed logins", 1 + int(FAILURES_S - (now_s - times[0])))

    def count(self, address: str) -> None:
        """Count one more."""
        self._times.setdefault(address, deque(maxlen=FAILURES_MAX)).append(time.monotonic())
        self._times.move_to_end(address)
        while len(self._times) > ADDRESSES_MAX:
            self._times.popitem(last=False)


class Logins:
    """Finds the user of each request."""

    def __init__(self, node: Node, session_s: int, origins: Collection[str] = ()) -> None:
        self._node = node
        self._session_s = session_s
        self._origins = origins
        self._key = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, tuple[float, Identity]] = OrderedDict()
        self._failures = Failures()
        self._names = _names_of_machine()

    def identify(self, request: Request) -> Identity:
        """Return the user of a request. Raises HttpError (401, 403, 429), Refused, Unavailable."""
        _check_site(request, self._origins)
        name, password = credentials(request)
        if name is not None:
            return self._by_password(request, name, password)
        handle = request.cookies.get(cookie_name(request))
        if not handle:
            raise login_failed(asks=_asks(request))
        try:
            found = self._node.ask("whoami", handle)
        except Refused as refused:
            if refused.exit_code != LOGIN_ENDED:
                raise
            raise login_failed(asks=False) from None
        token = token_of(handle)
        given = request.headers.get("X-CSRF-Token", "")
        if request.method not in SAFE_METHODS and not hmac.compare_digest(given.encode(), token.encode()):
            raise forbidden("X-CSRF-Token is missing, or is that of another session")
        return Identity(found["name"], tuple(found["tags"]), handle, token)

    def renew(self, request: Request) -> Identity:
        """Return the user of a request whose session has ended meanwhile. Raises as `identify`."""
        name, password = credentials(request)
        if name is None:
            raise login_failed(asks=False)
        digest = self._digest(request, name, password)
        if digest in self._known:
            self._known[digest] = 0.0, self._known[digest][1]
        return self._by_password(request, name, password)

    def refresh(self, request: Request, identity: Identity) -> Identity:
        """Return the user as it is now: the session ends when tags are changed. Raises as `identify`."""
        try:
            self._node.ask("whoami", identity.handle)
        except Refused as refused:
            if refused.exit_code != LOGIN_ENDED:
                return identity
            return self.renew(request)
        return identity

    def begin(self, request: Request, name: str, password: str) -> Identity:
        """Begin a session for a person's cookie. Raises as `identify`."""
        _check_site(request, self._origins)
        found = self._log_in(request, name, password, PERSON_IDLE_S)
        return found._replace(token=token_of(found.handle))

    def end(self, identity: Identity) -> None:
        """End a session."""
        self._node.ask("logout", handle=identity.handle)

    def _by_password(self, request: Request, name: str, password: str) -> Identity:
        digest, now_s = self._digest(request, name, password), time.monotonic()
        known = self._known.get(digest)
        if known is not None and now_s < known[0]:
            return known[1]
        # A password that was right is no guess: so guessing does not lock out programs behind the same address.
        identity = self._log_in(request, name, password, REQUEST_IDLE_S, is_guess=known is None)
        self._known[digest] = now_s + KNOWN_S, identity
        self._known.move_to_end(digest)
        while len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
        return identity

    def _log_in(self, request: Request, name: str, password: str, idle_s: int, *, is_guess: bool = True) -> Identity:
        address = request.remote_addr or ""
        if is_guess:
            self._failures.check(address)
        try:
            found = self._node.ask(
                "login",
                username=name,
                password=password,
                address=address,
                port=int(request.environ.get("REMOTE_PORT") or 0),
                local=self._is_local(request),
                idle_s=idle_s,
                life_s=self._session_s,
            )
        except Refused as refused:
            if refused.exit_code != LOGIN_ENDED:
                raise from_refusal(refused) from None
            self._failures.count(address)
            self._known.pop(self._digest(request, name, password), None)
            raise login_failed(asks=_asks(request)) from None
        return Identity(found["name"], tuple(found["tags"]), found["session"])

    def _is_local(self, request: Request) -> bool:
        """Tell whether a client on this machine has asked this machine by its name or address.

        A page of another site can have a browser here ask by a name that leads here: what it asked for tells.
        """
        host = request.host.rpartition(":")[0] if request.host.rpartition(":")[2].isdecimal() else request.host
        return _is_loopback(request.remote_addr or "") and (
            host.lower() in self._names or _is_loopback(host.strip("[]"))
        )

    def _digest(self, request: Request, name: str, password: str) -> bytes:
        parts = (request.remote_addr or "", str(self._is_local(request)), name, password)
        octets = b"".join(len(part.encode()).to_bytes(8) + part.encode() for part in parts)
        return hmac.digest(self._key, octets, "sha256")


def credentials(request: Request) -> tuple[str | None, str]:
    """Return name and password of a request; no name if it carries none."""
    kind, _, word = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "basic":
        return None, ""
    try:
        # werkzeug's own fails at anything but ASCII.
        name, _, password = b64decode(word.strip().encode(), validate=True).decode().partition(":")
    except ValueError:
        return None, ""
    return name, password


def cookie_name(request: Request) -> str:
    """Return the cookie's name: over HTTPS browsers take it from this very host alone."""
    return f"__Host-{COOKIE}" if request.scheme == "https" else COOKIE


def token_of(handle: str) -> str:
    """Return what a page sends with a request that changes something, to prove that it has seen an answer of ours."""
    return hmac.new(handle.encode(), b"csrf", "sha256").hexdigest()


def _check_site(request: Request, origins: Collection[str]) -> None:
    """Refuse what a page of another site made a browser send, but for these origins. Raises HttpError."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin", "").lower()
    if request.method in SAFE_METHODS or origin in origins:
        return
    # Browsers of before 2023 tell no more than the page's origin, which is never the host's behind some proxies: those
    # that say how the two are related are believed.
    is_foreign = site == "cross-site" if site else bool(origin) and origin.partition("://")[2] != request.host
    if is_foreign:
        raise forbidden("the request comes from a page of another site")


def _asks(request: Request) -> bool:
    """Tell whether browsers may ask for a password: not for what scripts of a page send."""
    return request.headers.get("Sec-Fetch-Dest", "document") == "document"


def _is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped: Any = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)


def _names_of_machine() -> frozenset[str]:
    name = socket.gethostname().lower()
    return frozenset({"localhost", name, name.partition(".")[0]})
