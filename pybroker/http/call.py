"""Call: one request to the HTTP API, and the node as its user sees it."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Request

from pybroker.http.errors import LOGIN_ENDED, HttpError, bad_request
from pybroker.http.node import Node, Refused

if TYPE_CHECKING:
    from pybroker.http.lists import Document
    from pybroker.http.logins import Identity, Logins
    from pybroker.http.samples.samples import Samples

# Of X-Reason: it goes into the log, and to the peer of a connection that is closed.
REASON_OCTETS_MAX: Final = 255
EMPTY: Final = frozenset({b"", b"null", b"undefined"})
DOUBLY_ENCODED: Final = "invalid payload: the request body JSON-decoded to a string. Is the input doubly-JSON-encoded?"
# An escape that may be half of a character.
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")

_T = TypeVar("_T")


class Call:
    """A request, and the `identity` of its user: None if its route asks for no login."""

    def __init__(
        self, request: Request, node: Node, identity: "Identity | None", logins: "Logins", samples: "Samples"
    ) -> None:
        self.request = request
        self.identity = identity
        self.logins = logins
        self.samples = samples
        self._node = node

    @property
    def query(self) -> MultiDict[str, str]:
        """Return the parameters behind the question mark."""
        return self.request.args

    def flag(self, name: str) -> bool:
        """Tell whether a parameter says true."""
        return self.query.get(name, "") == "true"

    @property
    def protocol(self) -> str:
        """Return the protocol of the listener that took it, as RabbitMQ names it."""
        return "https" if self.request.scheme == "https" else "http"

    @property
    def host(self) -> str:
        """Return the address of that listener."""
        return (self.request.server or ("", None))[0]

    @property
    def port(self) -> int:
        """Return the port of that listener."""
        return (self.request.server or ("", None))[1] or 0

    def ask(self, command: str, lines: Iterable[bytes] = (), /, **args: Any) -> Any:
        """Return what a command answers, run by the user; `lines` follow its request if it takes them.

        Raises Refused, Unavailable, HttpError.
        """
        try:
            return self._node.ask(command, self._handle, lines, **args)
        except Refused as refused:
            self._log_in_again(refused)
        return self._node.ask(command, self._handle, lines, **args)

    def rows(self, command: str, /, **args: Any) -> Iterator[Any]:
        """Return the rows that a command streams, run by the user. Raises Refused, Unavailable, HttpError."""
        return self._begun(self._node.rows, command, args)

    def records(self, command: str, /, **args: Any) -> Iterator["Document"]:
        """Return the rows of a listing by column, run by the user. Raises Refused, Unavailable, HttpError."""
        return self._begun(self._node.records, command, args)

    def _begun(self, ask: Callable[..., Iterator[_T]], command: str, args: dict[str, Any]) -> Iterator[_T]:
        """Return rows of which the first has come: refusals are raised here."""
        try:
            return _first(ask(command, self._handle, **args))
        except Refused as refused:
            self._log_in_again(refused)
        return _first(ask(command, self._handle, **args))

    @property
    def _handle(self) -> str | None:
        return None if self.identity is None else self.identity.handle

    def _log_in_again(self, refused: Refused) -> None:
        """Begin another session in place of one that has ended. Raises the refusal of anything else, HttpError."""
        if refused.exit_code != LOGIN_ENDED or self.identity is None:
            raise refused
        self.identity = self.logins.renew(self.request)

    def change(self, command: str, lines: Iterable[bytes] = (), /, **args: Any) -> Any:
        """Return what a command answers that makes something in a virtual host. Raises as `ask`."""
        try:
            return self.ask(command, lines, **args)
        except Refused as refused:
            if refused.facts.get("missing") == "vhost":
                raise HttpError(404, "not_found", "vhost_not_found") from None
            raise

    def answer(
        self,
        command: str,
        lines: Iterable[bytes] = (),
        /,
        *,
        progress: bool = False,
        idle_s: float | None = None,
        **args: Any,
    ) -> Iterator[Any]:
        """Return the lines of an answer, as `Node.answer` has them, of which the first has come. Raises as `ask`."""
        try:
            return _first(self._node.answer(command, args, self._handle, lines, progress=progress, idle_s=idle_s))
        except Refused as refused:
            self._log_in_again(refused)
        return _first(self._node.answer(command, args, self._handle, lines, progress=progress, idle_s=idle_s))

    def document(self) -> Any:
        """Return the body, which is JSON; nothing, `null` and `undefined` are an empty object. Raises HttpError."""
        try:
            octets = self.request.get_data()
        except OSError:
            raise bad_request("the body of the request has no end") from None
        if octets.strip() in EMPTY:
            return {}
        try:
            found = json.loads(octets.decode(), parse_constant=_refuse_constant)
            if _HALF.search(octets):
                json.dumps(found, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise bad_request("not_json") from None
        return found

    def fields(self) -> dict[str, Any]:
        """Return the body, which is a JSON object. Raises HttpError."""
        found = self.document()
        if isinstance(found, str):
            raise bad_request(DOUBLY_ENCODED)
        if not isinstance(found, dict):
            raise bad_request("not_json")
        return found

    @property
    def reason(self) -> str:
        """Return what the header X-Reason says, or RabbitMQ's text without one. Raises HttpError."""
        text = self.request.headers.get("X-Reason") or "Closed via management plugin"
        if len(text.encode()) > REASON_OCTETS_MAX or not text.isprintable():
            raise bad_request(f"X-Reason has more than {REASON_OCTETS_MAX} octets, or control characters")
        return text


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads and JSON does not have. Raises ValueError."""
    raise ValueError(f"JSON has no {name}")


def _first(rows: Iterator[_T]) -> Iterator[_T]:
    """Wait for the first row; return all of them."""
    found = list(islice(rows, 1))
    return chain(found, rows)
