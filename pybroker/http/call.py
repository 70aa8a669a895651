"""Call: one request to the HTTP API, and the node as its user sees it."""

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from gevent.lock import BoundedSemaphore
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import ClientDisconnected
from werkzeug.wrappers import Request

from pybroker.http.errors import LOGIN_ENDED, HttpError, bad_request, unavailable
from pybroker.http.node import Node, Refused

if TYPE_CHECKING:
    from pybroker.http.lists import Document
    from pybroker.http.logins import Identity, Logins
    from pybroker.http.order import Indexes
    from pybroker.http.samples.samples import Samples

# Of X-Reason: it goes into the log, and to the peer of a connection that is closed.
REASON_OCTETS_MAX: Final = 255
FORM: Final = "multipart/form-data"
# Bodies that have, or may come to, more octets are read by so many requests at once.
LARGE_OCTETS: Final = 1 << 20
LARGE_MAX: Final = 4
LARGE_WAIT_S: Final = 30.0
_LARGE: Final = BoundedSemaphore(LARGE_MAX)
# Objects and arrays take up to fifty times the octets of their text.
BRACKETS_MAX: Final = 1_000_000
EMPTY: Final = frozenset({b"", b"null", b"undefined"})
DOUBLY_ENCODED: Final = "invalid payload: the request body JSON-decoded to a string. Is the input doubly-JSON-encoded?"
# An escape that may be half of a character.
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")

_T = TypeVar("_T")


class Call:
    """A request, and the `identity` of its user: None if its route asks for no login."""

    def __init__(
        self,
        request: Request,
        node: Node,
        identity: "Identity | None",
        logins: "Logins",
        samples: "Samples",
        indexes: "Indexes",
    ) -> None:
        self.request = request
        self.identity = identity
        self.logins = logins
        self.samples = samples
        self.indexes = indexes
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
        return self._asked(lambda: self._node.ask(command, self._handle, lines, **args))

    def rows(self, command: str, /, **args: Any) -> Iterator[Any]:
        """Return the rows that a command streams, run by the user. Raises Refused, Unavailable, HttpError."""
        return self._asked(lambda: _first(self._node.rows(command, self._handle, **args)))

    def records(self, command: str, /, **args: Any) -> Iterator["Document"]:
        """Return the rows of a listing by column, run by the user. Raises Refused, Unavailable, HttpError."""
        return self._asked(lambda: _first(self._node.records(command, self._handle, **args)))

    def vhost_names(self, only: str | None = None) -> tuple[str, ...]:
        """Return the virtual hosts that the user sees, or this one if they do. Raises as `ask`."""
        found = self.rows("object_rows", kind="vhost", facts=["name"], **({} if only is None else {"only": only}))
        return tuple([name for (name,) in found])

    @property
    def _handle(self) -> str | None:
        return None if self.identity is None else self.identity.handle

    def _asked(self, ask: Callable[[], _T]) -> _T:
        """Return what is asked for, by a new session if the old one has ended. Raises as `ask`."""
        try:
            return ask()
        except Refused as refused:
            if refused.exit_code != LOGIN_ENDED or self.identity is None:
                raise
        self.identity = self.logins.renew(self.request)
        return ask()

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
        more: dict[str, Any] = {"progress": progress, "idle_s": idle_s}
        return self._asked(lambda: _first(self._node.answer(command, args, self._handle, lines, **more)))

    def document(self, *, upload: bool = False) -> Any:
        """Return the body, which is JSON; nothing, `null` and `undefined` are an empty object. Raises HttpError.

        An `upload` may also come as the field `file` of a form.
        """
        try:
            with self._turn():
                octets = self._uploaded() if upload and self.request.mimetype == FORM else self.request.get_data()
        except (OSError, ClientDisconnected) as error:
            # Werkzeug makes one of every error of the stream.
            if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
                raise HttpError(408, "request_timeout", "the body of the request took too long") from None
            raise bad_request("the body of the request has no end, or is none") from None
        if octets.strip() in EMPTY:
            return {}
        if octets.count(b"{") + octets.count(b"[") > BRACKETS_MAX:
            raise HttpError(413, "bad_request", f"the body of the request has more than {BRACKETS_MAX} brackets")
        try:
            found = json.loads(octets.decode(), parse_constant=_refuse_constant)
            if _HALF.search(octets):
                json.dumps(found, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise bad_request("not_json") from None
        return found

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Have it read when it is the turn of a body of this size. Raises HttpError."""
        octets = self.request.content_length or 0
        if "Transfer-Encoding" in self.request.headers:
            octets = self.request.max_content_length or sys.maxsize
        if octets <= LARGE_OCTETS:
            yield
            return
        if not _LARGE.acquire(timeout=LARGE_WAIT_S):
            raise unavailable("other requests with a large body are being read")
        try:
            yield
        finally:
            _LARGE.release()

    def _uploaded(self) -> bytes:
        form, files = self.request.form, self.request.files
        if "file" in files:
            return bytes(files["file"].read())
        return form.get("file", "-").encode()

    def fields(self, *, upload: bool = False) -> dict[str, Any]:
        """Return the body, which is a JSON object. Raises as `document`."""
        found = self.document(upload=upload)
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
    """Wait for the first row, since refusals come instead of it; return all of them."""
    found = list(islice(rows, 1))
    return chain(found, rows)
