"""Node: the broker as this process sees it, through the socket that it has for this."""

import contextlib
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from gevent import socket

from pybroker.control import codec

# Idle connections that are kept for the next request.
IDLE_MAX: Final = 8
# A step of an answer takes the node some milliseconds, also beside much work.
TIMEOUT_S: Final = 30.0


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

    def ask(self, command: str, session: str | None = None, /, **args: Any) -> Any:
        """Return the value that a command answers with."""
        (answer,) = self._lines(command, args, session)
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

    def _lines(self, command: str, args: Mapping[str, Any], session: str | None) -> Iterator[Any]:
        """Yield the lines of an answer but the last."""
        connection = self._connect(codec.encode_request(command, args, session=session))
        is_whole = False
        try:
            while True:
                line = connection.line()
                if isinstance(line, dict) and "end" in line:
                    is_whole = True
                    return
                if isinstance(line, dict) and "error" in line:
                    is_whole = True
                    error = line["error"]
                    raise Refused(error["text"], error["exit_code"], error.get("facts"))
                yield line
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
        try:
            connection = _Connection(self._path)
        except (OSError, codec.BadLine) as error:
            raise Unavailable(f"no node answers on {self._path}: {error}") from error
        if not connection.asks(request):
            connection.close()
            raise Unavailable("the node closed the connection")
        return connection


class _Connection:
    """A connection to the node, greeted."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(str(path))
            self._file = self._socket.makefile("rb")
            greeting = self.line()
        except BaseException:
            self._socket.close()
            raise
        if "error" in greeting:
            self.close()
            raise OSError(greeting["error"]["text"])

    def asks(self, request: bytes) -> bool:
        """Send a request; tell whether that was possible, and nothing was left of an answer."""
        with contextlib.suppress(OSError):
            self._socket.settimeout(0)
            try:
                if not self._socket.recv(1):
                    return False
            except BlockingIOError:
                self._socket.settimeout(TIMEOUT_S)
                self._socket.sendall(request)
                return True
        return False

    def line(self) -> Any:
        """Return the next line. Raises OSError, BadLine."""
        line = self._file.readline()
        if not line:
            raise ConnectionError("it closed the connection")
        return codec.decode(line)

    def close(self) -> None:
        """Close it."""
        with contextlib.suppress(OSError):
            self._file.close()
        self._socket.close()
