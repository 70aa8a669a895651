"""The thread that reads one connection: octets -> frames -> the channel they are for. It never runs user code (S4).

Does not know what a frame means: its receiver does, which is the channel, or for channel 0 the connection.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from pybroker.client.errors import AmqpError, ChannelError, ConnectionLost
from pybroker.client.transport.backpressure import Backpressure
from pybroker.client.transport.stream import Stream
from pybroker.client.transport.writer import Writer
from pybroker.wire.frame import BODY, HEADER, HEARTBEAT, METHOD, split_frame

_log = logging.getLogger("pybroker.client")


class Receiver:
    """Takes the frames of one channel number. Called by the reader only; must not wait."""

    __slots__ = ()

    def receive_method(self, payload: bytes) -> None:
        """Take a method. Raises AmqpError (hard), which closes the connection."""
        raise NotImplementedError

    def receive_header(self, payload: bytes) -> None:
        """Take a content header. Raises AmqpError (hard)."""
        raise NotImplementedError

    def receive_body(self, payload: bytes) -> None:
        """Take a part of a body. Raises AmqpError (hard)."""
        raise NotImplementedError

    def awaits(self) -> bool:
        """Tell whether the broker still owes an answer that nobody need be waiting for just now."""
        return False


class Reader:
    """One connection's reader. `ended` is called by its thread, at its end, with the reason."""

    __slots__ = (
        "_backpressure",
        "_ended",
        "_frame_octets_max",
        "_receivers",
        "_rest",
        "_stopped",
        "_stream",
        "_writer",
        "thread",
    )

    def __init__(
        self,
        stream: Stream,
        writer: Writer,
        receivers: Mapping[int, Receiver],
        backpressure: Backpressure,
        ended: Callable[[Exception], None],
        *,
        frame_octets_max: int,
        rest: bytes,
        name: str,
    ) -> None:
        self._stream = stream
        self._writer = writer
        self._receivers = receivers
        self._backpressure = backpressure
        self._ended = ended
        self._frame_octets_max = frame_octets_max
        self._rest = rest
        self._stopped = False
        self.thread = threading.Thread(target=self._run, name=f"{name}-reader", daemon=True)

    def stop(self) -> None:
        """Let the thread end at what it reads next, or now if it is held."""
        self._stopped = True
        with self._backpressure:
            pass

    def _run(self) -> None:
        try:
            error = self._read()
        except AmqpError as fault:
            error = fault
        except OSError as fault:
            error = ConnectionLost(f"the connection broke: {fault}")
        except Exception as fault:  # noqa: BLE001 - a reader that dies in silence leaves everybody waiting
            _log.exception("internal error in the reader")
            error = ConnectionLost(f"the reader failed: {fault!r}")
        self._ended(error)

    def _read(self) -> Exception:
        """Read until the end of the stream; return what that means. Raises AmqpError (hard), OSError."""
        data = self._rest
        while not self._stopped:
            taken = self.receive(data) if data else 0
            self._backpressure.hold(self._goes_on, self._awaits)
            octets = self._stream.receive()
            if not octets:
                break
            self._writer.heard_s = time.monotonic()
            data = data[taken:] + octets if taken < len(data) else octets
        return ConnectionLost("the broker closed the connection")

    def receive(self, data: bytes) -> int:
        """Hand all whole frames of `data` to their channels; return how many octets they had. Raises AmqpError."""
        at = 0
        receivers = self._receivers
        octets_max = self._frame_octets_max
        while True:
            split = split_frame(data, at, octets_max)
            if split is None:
                return at
            kind, number, start, end = split
            at = end + 1
            receiver = receivers.get(number)
            if receiver is None:
                raise ChannelError(f"a frame of type {kind} came for channel {number}, which is not open")
            if kind == BODY:
                receiver.receive_body(data[start:end])
            elif kind == METHOD:
                receiver.receive_method(data[start:end])
            elif kind == HEADER:
                receiver.receive_header(data[start:end])
            else:
                assert kind == HEARTBEAT

    def _goes_on(self) -> bool:
        return not self._stopped

    def _awaits(self) -> bool:
        return any(receiver.awaits() for receiver in tuple(self._receivers.values()))
