"""Node: the broker as this process sees it, through the socket that it has for this."""

import contextlib
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import gevent
from gevent import socket

from pybroker.control import codec

# A line that is none: nothing has come.
IDLE: Final = object()
CHUNK_OCTETS: Final = 65_536
# Idle connections that are kept for the next request.
IDLE_MAX: Final = 8
# The node lets go of the connection that was idle longest when many want one: amid much work that may be a new one.
ATTEMPTS_MAX: Final = 3
# A step of an answer takes the node some milliseconds, also beside much work.
TIMEOUT_S: Final = 30.0
# How long to wait when no further caller may wait for the node.
AGAIN_S: Final = 0.02
# A command that is about something large says that it goes on. One that waits for a disk that is full does so, too.
SILENCE_S_MAX: Final = 600.0


class Unavailable(Exception):
    """The node does not run, or does not answer."""


class Refused(Exception):
    """The node refuses what was asked of it; `exit_code` as pybrokerctl ends with, `facts` for programs."""

    def __init__(self, text: str, exit_code: int, facts: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.exit_code = exit_code
        self.facts = dict(facts or {})


class Node:
    """Asks a node, each request on a connection that has no other. Raises Unavailable and Refused throughout.

    A command runs as the user of the `session`, of which this is the handle; as nobody without one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: deque[_Connection] = deque(maxlen=IDLE_MAX)

    def ask(self, command: str, session: str | None = None, lines: Iterable[bytes] = (), /, **args: Any) -> Any:
        """Return the value that a command answers with; `lines` follow the request if the command takes them."""
        (answer,) = self._lines(command, args, session, lines)
        return answer["value"]

    def rows(self, command: str, session: str | None = None, /, **args: Any) -> Iterator[Any]:
        """Yield the rows that a command streams, each a list; read no faster than this is asked for."""
        for line in self._lines(command, args, session):
            if isinstance(line, list):
                yield line[0]

    def records(self, command: str, session: str | None = None, /, **args: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows of a listing by column; read no faster than this is asked for."""
        columns: list[str] = []
        for line in self._lines(command, args, session):
            if isinstance(line, list):
                yield dict(zip(columns, line, strict=True))
            else:
                columns = line["columns"]

    def _lines(
        self, command: str, args: Mapping[str, Any], session: str | None, lines: Iterable[bytes] = ()
    ) -> Iterator[Any]:
        """Yield the lines of an answer but the last."""
        for line in self.answer(command, args, session, lines):
            if not (isinstance(line, dict) and "end" in line):
                yield line

    def answer(
        self,
        command: str,
        args: Mapping[str, Any],
        session: str | None,
        lines: Iterable[bytes] = (),
        *,
        progress: bool = False,
        idle_s: float | None = None,
    ) -> Iterator[Any]:
        """Yield the lines of an answer: rows are lists, all else are objects, of which the last has `end`.

        Closing the iterator early ends the command. With `progress` there are lines about how far it is. An answer that
        the command wants to know as shown counts as such when the next line is asked for. With `idle_s` IDLE comes
        whenever nothing has come for so long.
        """
        connection = self._connect(codec.encode_request(command, args, progress=progress, session=session))
        is_whole = False
        told_s = time.monotonic()
        sent = False  # lines: the node reads nothing else after them, and closes the connection
        try:
            while True:
                line = connection.line(idle_s)
                if line == codec.GOES_ON:
                    if time.monotonic() - told_s > SILENCE_S_MAX:
                        raise TimeoutError(f"it has not answered for {SILENCE_S_MAX:g} seconds")
                    continue
                told_s = time.monotonic()
                if isinstance(line, dict) and "end" in line:
                    is_whole = not sent
                    yield line
                    return
                if line == {"send": "lines"}:
                    sent = True
                    connection.send(lines)
                    continue
                if isinstance(line, dict) and "error" in line:
                    is_whole = not sent
                    error = line["error"]
                    raise Refused(error["text"], error["exit_code"], error.get("facts"))
                yield line
                if line == {"send": "shown"}:
                    sent = True
                    connection.send([codec.encode(["shown"])])
        except (OSError, codec.BadLine) as error:
            raise Unavailable(f"the node does not answer: {error}") from error
        finally:
            if is_whole:
                self._idle.append(connection)
            else:
                connection.close()

    def _connect(self, request: bytes) -> "_Connection":
        """Return a connection on which this was asked; an idle one may have been closed by the node meanwhile."""
        while self._idle:
            connection = self._idle.pop()
            if connection.asks(request):
                return connection
            connection.close()
        for _ in range(ATTEMPTS_MAX):
            try:
                connection = _Connection(self._path)
            except (OSError, codec.BadLine) as error:
                raise Unavailable(f"no node answers on {self._path}: {error}") from error
            if connection.asks(request):
                return connection
            connection.close()
        raise Unavailable("the node closed the connection")


class _Connection:
    """A connection to the node, greeted."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._come_in(str(path))
            self._socket.settimeout(TIMEOUT_S)
            self._buffer = bytearray()
            self._values: deque[Any] = deque()
            greeting = self.line()
        except BaseException:
            self._socket.close()
            raise
        if "error" in greeting:
            self.close()
            raise OSError(greeting["error"]["text"])

    def _come_in(self, path: str) -> None:
        """Connect, and wait while a crowd stands before the node: gevent would ask again without a pause. OSError."""
        self._socket.settimeout(0)
        ends_s = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self._socket.connect(path)
            except BlockingIOError:
                if time.monotonic() >= ends_s:
                    raise TimeoutError("too many callers are waiting") from None
                gevent.sleep(AGAIN_S)
            else:
                return

    def asks(self, request: bytes) -> bool:
        """Send a request; tell whether that was possible, and nothing was left of an answer."""
        with contextlib.suppress(OSError):
            self._socket.settimeout(0)
            try:
                if self._buffer or self._values or not self._socket.recv(1):
                    return False
            except BlockingIOError:
                self._socket.settimeout(TIMEOUT_S)
                self._socket.sendall(request)
                return True
        return False

    def send(self, lines: Iterable[bytes]) -> None:
        """Send lines; a node that does not listen any more has said why, which is read next."""
        with contextlib.suppress(OSError):
            for line in lines:
                self._socket.sendall(line)

    def line(self, idle_s: float | None = None) -> Any:
        """Return the next line; IDLE if `idle_s` are given and nothing comes for so long. Raises OSError, BadLine."""
        if self._values:
            return self._values.popleft()
        self._socket.settimeout(TIMEOUT_S if idle_s is None else idle_s)
        end = 0
        while not end:
            try:
                octets = self._socket.recv(CHUNK_OCTETS)
            except TimeoutError:
                if idle_s is None:
                    raise
                return IDLE
            if not octets:
                raise ConnectionError("it closed the connection")
            end = len(self._buffer) + octets.rfind(b"\n") + 1 if b"\n" in octets else 0
            self._buffer += octets
        self._values.extend(codec.decode_lines(bytes(self._buffer[:end])))
        del self._buffer[:end]
        return self._values.popleft()

    def close(self) -> None:
        """Close it."""
        self._socket.close()
