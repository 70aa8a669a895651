"""Talks to one daemon over its control socket: greeting, request, answer line by line. Knows no command."""

import os
import select
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

from pybroker.control import codec
from pybroker.control.spec import Refused
from pybrokerctl import exit_codes

CHUNK_OCTETS: Final = 65_536
PEERCRED: Final = struct.Struct("3i")


class Unreachable(Exception):
    """No daemon answers on a socket; `why` says what the system said."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class TimedOut(Exception):
    """The time given with -t is over."""


class Connection:
    """One conversation. `node` and `version` are the daemon's, as it greets; `pid` is its process."""

    def __init__(self, path: Path, timeout_s: float | None) -> None:
        self.path = path
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._buffer = bytearray()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._batches = self._lines()
        try:
            self._open()
        except Exception:
            self._socket.close()
            raise

    def _open(self) -> None:
        """Connect and read the greeting."""
        try:
            self._wait_for(self._socket.connect, str(self.path))
        except OSError as error:
            raise Unreachable(self.path, error.strerror or str(error)) from error
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEERCRED.size)
        self.pid: int = PEERCRED.unpack(credentials)[0]
        greeting = self._expect_object(next(self._batches)[0], "node", "version", "protocol")
        self.node: str = greeting["node"]
        self.version: str = greeting["version"]
        if greeting["protocol"] != codec.PROTOCOL:
            text = f"the daemon is version {self.version}; use the pybrokerctl that came with it"
            raise Refused(text, exit_codes.UNAVAILABLE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, command: str, args: Mapping[str, Any]) -> tuple[list[str] | None, Any]:
        """Send a request; return (column names, iterator of batches of rows), or (None, value).

        Raises Refused with the daemon's sentence, also in the midst of the rows; TimedOut; Unreachable.
        """
        try:
            self._wait_for(self._socket.sendall, codec.encode_request(command, args))
        except OSError as error:
            raise Unreachable(self.path, error.strerror or str(error)) from error
        first, *rest = next(self._batches)
        head = self._expect_object(first)
        if "columns" in head:
            return head["columns"], self._rows(rest)
        return None, self._expect_object(head, "value")["value"]

    def wait_until_gone(self) -> None:
        """Return when the daemon's process has ended. Raises TimedOut."""
        try:
            process = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            left = self._left_s()
            if not select.select([process], [], [], left)[0]:
                raise TimedOut
        finally:
            os.close(process)

    def _rows(self, batch: list[Any]) -> Iterator[list[list[Any]]]:
        while True:
            rows = [line for line in batch if isinstance(line, list)]
            if rows:
                yield rows
            if len(rows) < len(batch):
                self._expect_object(batch[len(rows)], "end")
                return
            batch = next(self._batches)

    def _expect_object(self, line: Any, *keys: str) -> dict[str, Any]:
        """Return an object of the protocol, with these keys. Raises Refused when it is the daemon's refusal."""
        match line:
            case {"error": {"text": str(text), "exit_code": int(exit_code)}}:
                raise Refused(text, exit_code)
            case dict() if line.keys() >= set(keys):
                return line
        raise Refused(f"{self.path} does not speak pybroker's control protocol", exit_codes.UNAVAILABLE)

    def _lines(self) -> Iterator[list[Any]]:
        """Yield the values of the whole lines of each read, at least one."""
        buffer = self._buffer
        while True:
            try:
                data = self._wait_for(self._socket.recv, CHUNK_OCTETS)
            except OSError as error:
                raise Unreachable(self.path, error.strerror or str(error)) from error
            if not data:
                raise Unreachable(self.path, "the daemon closed the connection in the midst of its answer")
            buffer += data
            end = buffer.rfind(b"\n") + 1
            if not end:
                continue
            whole = bytes(buffer[:end])
            del buffer[:end]
            try:
                yield [codec.decode(line) for line in whole.splitlines()]
            except codec.BadLine as error:
                text = f"{self.path} does not speak pybroker's control protocol ({error})"
                raise Refused(text, exit_codes.UNAVAILABLE) from error

    def _left_s(self) -> float | None:
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimedOut
        return left

    def _wait_for(self, call: Any, argument: Any) -> Any:
        """Call a method of the socket within the time that is left."""
        self._socket.settimeout(self._left_s())
        try:
            return call(argument)
        except TimeoutError:
            raise TimedOut from None
