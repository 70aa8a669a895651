"""Talks to one daemon over its control socket: greeting, request, answer line by line. Knows no command."""

import contextlib
import os
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, Self

from pybroker.control import codec
from pybroker.control.spec import Refused
from pybrokerctl import exit_codes

CHUNK_OCTETS: Final = 65_536
# How long to wait when no further caller may wait for the daemon.
AGAIN_S: Final = 0.02
# How often the spinner moves.
TICK_S: Final = 0.1
PEERCRED: Final = struct.Struct("3i")


class Unreachable(Exception):
    """No daemon answers on a socket; `why` says what the system said."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class Gone(Unreachable):
    """The daemon ended, or let us go, in the midst of its answer."""


class TimedOut(Exception):
    """The time given with -t is over."""


class Spinner(Protocol):
    """Display for a person while an answer is awaited."""

    def wait(self) -> None:
        """Show that time goes by; called every TICK_S."""

    def count(self, done: int, total: int) -> None:
        """Show how far the work is."""

    def stop(self) -> None:
        """Take it off the screen: the answer comes."""


class Connection:
    """One conversation. `node` and `version` are the daemon's, as it greets; `pid` is its process.

    The time it may take begins anew with `restart_clock`. While `patience` is set it is called during waits. `peer` is
    a socket that is connected already, `held` is sent with the request; `lines` are sent when the daemon asks.
    """

    def __init__(
        self,
        path: Path,
        timeout_s: float | None,
        peer: socket.socket | None = None,
        held: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = path
        self.patience: Spinner | None = None
        self.lines: Iterable[bytes] = ()
        self._timeout_s = timeout_s
        self._deadline: float | None = None
        self._buffer = bytearray()
        self._held = held
        self._socket = peer or socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._batches = self._lines()
        self._is_asked = False
        self.facts: Mapping[str, Any] = {}  # that came with the end of the last rows
        self.restart_clock()
        try:
            if peer is None:
                self._connect()
            self._open()
        except Exception:
            self._socket.close()
            raise

    def restart_clock(self) -> None:
        """Let what follows take the whole time again."""
        self._deadline = None if self._timeout_s is None else time.monotonic() + self._timeout_s

    def _connect(self) -> None:
        while True:
            try:
                self._wait_for(self._socket.connect, str(self.path))
            except BlockingIOError:
                # The line before the daemon is full, and with a time limit the kernel does not wait for us.
                time.sleep(AGAIN_S)
            except OSError as error:
                raise Unreachable(self.path, error.strerror or str(error)) from error
            else:
                return

    def _open(self) -> None:
        """Read the greeting."""
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEERCRED.size)
        self.pid: int = PEERCRED.unpack(credentials)[0]
        try:
            greeting = self._expect_object(next(self._batches)[0], "node", "version", "protocol")
        except Gone as gone:
            # Nobody has said a word yet: the node is going, or not there yet.
            raise Unreachable(self.path, "the daemon closed the connection before its greeting") from gone
        self.node: str = greeting["node"]
        self.version: str = greeting["version"]
        if greeting["protocol"] != codec.PROTOCOL:
            text = f"the daemon is version {self.version}; use the pybrokerctl of the same version"
            raise Refused(text, exit_codes.UNAVAILABLE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, command: str, args: Mapping[str, Any], *, progress: bool = False) -> tuple[list[str] | None, Any]:
        """Send a request; return (column names, iterator of batches of rows), or (None, value).

        With `progress` long work reports it, and ends when we go. Raises Refused with the daemon's sentence, also in
        the midst of the rows; TimedOut; Gone.
        """
        self._send(codec.encode_request(command, args, progress=progress, held=self._held))
        batch = next(self._batches)
        while True:
            match self._expect_object(batch[0]):
                case {"progress": [int(done), int(total)]}:
                    if self.patience:
                        self.patience.count(done, total)
                    batch = batch[1:] or next(self._batches)
                case {"send": "lines"}:
                    self._send_lines()
                    batch = batch[1:] or next(self._batches)
                case {"columns": [*columns]}:
                    # Nothing but rows from here on, on the screen too.
                    self._lose_patience()
                    return columns, self._rows(batch[1:])
                case {"value": value}:
                    if self.patience:
                        self.patience.stop()
                    self._expect_object((batch[1:] or next(self._batches))[0], "end")
                    return None, value
                case _:
                    raise self._other_protocol()

    def hold(self, command: str) -> dict[str, Any]:
        """Ask for what the daemon holds for as long as this conversation lasts; return it. Raises as `ask`."""
        self._send(codec.encode_request(command, {}, progress=True))
        while True:
            for line in next(self._batches):
                match self._expect_object(line):
                    case {"value": dict(value)}:
                        return value
                    case {"progress": _}:
                        continue
                    case _:
                        raise self._other_protocol()

    def drain(self) -> None:
        """Read and forget whatever comes until `leave`: a daemon whose words nobody takes would let us go."""
        self._socket.settimeout(None)
        with contextlib.suppress(OSError):
            while self._socket.recv(CHUNK_OCTETS):
                pass

    def leave(self) -> None:
        """End the conversation, also for a thread that drains it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _send(self, octets: bytes) -> None:
        try:
            self._wait_for(self._socket.sendall, octets)
        except OSError as error:
            raise Gone(self.path, error.strerror or str(error)) from error

    def _send_lines(self) -> None:
        """Send what belongs to the request. A daemon that listens no longer has said why, which is read next."""
        with contextlib.suppress(OSError):
            for line in self.lines:
                self._wait_for(self._socket.sendall, line)
                if self.patience:
                    self.patience.wait()

    def _lose_patience(self) -> None:
        if self.patience:
            self.patience.stop()
            self.patience = None

    def wait_until_gone(self) -> None:
        """Return when the daemon's process has ended. Raises TimedOut."""
        try:
            process = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            while not select.select([process], [], [], self._tick_s())[0]:
                self._left_s()
                if self.patience:
                    self.patience.wait()
        finally:
            os.close(process)

    def _rows(self, batch: list[Any]) -> Iterator[list[list[Any]]]:
        while True:
            rows = [line for line in batch if isinstance(line, list)]
            if rows:
                yield rows
            if len(rows) < len(batch):
                last = self._expect_object(batch[len(rows)])
                self._is_asked = "send" in last
                if not self._is_asked:
                    self._expect_object(last, "end")
                self.facts = last.get("facts", {})
                return
            batch = next(self._batches)

    def confirm_shown(self) -> None:
        """Tell a daemon that wants to know that its answer is written; learn how it ended. Raises Refused, Gone."""
        if self._is_asked:
            self._send(codec.encode(["shown"]))
            self._is_asked = False
            self._expect_object(next(self._batches)[0], "end")

    def _expect_object(self, line: Any, *keys: str) -> dict[str, Any]:
        """Return an object of the protocol, with these keys. Raises Refused when it is the daemon's refusal."""
        match line:
            case {"error": {"text": str(text), "exit_code": int(exit_code), **more}}:
                facts = more.get("facts")
                raise Refused(text, exit_code, facts if isinstance(facts, dict) else None)
            case dict() if line.keys() >= set(keys):
                return line
        raise self._other_protocol()

    def _other_protocol(self) -> Refused:
        return Refused(f"{self.path} does not speak pybroker's control protocol", exit_codes.UNAVAILABLE)

    def _lines(self) -> Iterator[list[Any]]:
        """Yield the values of the whole lines of each read, at least one."""
        buffer = self._buffer
        while True:
            try:
                data = self._receive()
            except OSError as error:
                raise Gone(self.path, error.strerror or str(error)) from error
            if not data:
                raise Gone(self.path, "the daemon closed the connection before its answer was complete")
            buffer += data
            end = buffer.rfind(b"\n") + 1
            if not end:
                continue
            whole = bytes(buffer[:end])
            del buffer[:end]
            try:
                yield codec.decode_lines(whole)
            except codec.BadLine as error:
                text = f"{self.path} does not speak pybroker's control protocol ({error})"
                raise Refused(text, exit_codes.UNAVAILABLE) from error

    def _receive(self) -> bytes:
        """Return what the daemon says next, nothing at the end."""
        while self.patience and not select.select([self._socket], [], [], self._tick_s())[0]:
            self.patience.wait()
        data: bytes = self._wait_for(self._socket.recv, CHUNK_OCTETS)
        return data

    def _tick_s(self) -> float:
        """Return how long to wait until the next tick. Raises TimedOut."""
        left = self._left_s()
        return TICK_S if left is None else min(left, TICK_S)

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
