"""From a socket to an open connection (AMQP §2.2.4, [connection.*]): start, tune, open. It blocks, up to a deadline."""

import contextlib
import os
import platform
import time
from typing import Any, Final, NamedTuple

from pamqp import base, commands

from pybroker.client.errors import AuthenticationFailed, ConnectionLost, error_of
from pybroker.client.options import Options
from pybroker.client.transport.stream import Stream
from pybroker.version import VERSION
from pybroker.wire.frame import METHOD, PROTOCOL_HEADER, split_frame
from pybroker.wire.methods import decode_method, encode_method, make_method
from pybroker.wire.table import Table

_ACCESS_REFUSED: Final = 403
# The most a frame may have before tune says otherwise is 4,096 (AMQP §4.2.3); brokers with many properties exceed it.
_FRAME_OCTETS_MAX: Final = 1 << 17

# The answer of a TLS server to AMQP's header: a record of type alert (RFC 8446 §5.1).
_TLS_ALERT: Final = b"\x15\x03"

CAPABILITIES: Final = (
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "authentication_failure_close",
)


class Agreed(NamedTuple):
    """The parameters that both sides agreed on; `rest` are octets that came behind open-ok."""

    channel_max: int
    frame_octets_max: int
    heartbeat_s: int
    server_properties: Table
    rest: bytes


def shake_hands(stream: Stream, options: Options) -> Agreed:
    """Open the connection.

    Raises AuthenticationFailed; AmqpError for an error of the broker, e.g. NotAllowed for a virtual host that it lacks;
    ConnectionLost, TimeoutError, OSError.
    """
    return _Handshake(stream, options).run()


def client_properties(options: Options) -> Table:
    """Return what we say of ourselves; `options.client_properties` add to it and win."""
    properties: dict[str, Any] = {
        "product": "pybroker client",
        "version": VERSION,
        "platform": f"Python {platform.python_version()}",
        "information": f"pid {os.getpid()}",
        "capabilities": Table(dict.fromkeys(CAPABILITIES, True)),
    }
    if options.connection_name:
        properties["connection_name"] = options.connection_name
    return Table({**properties, **options.client_properties})


class _Handshake:
    def __init__(self, stream: Stream, options: Options) -> None:
        self._stream = stream
        self._options = options
        self._deadline = time.monotonic() + options.handshake_timeout_s
        self._data = b""

    def run(self) -> Agreed:
        options = self._options
        self._send(PROTOCOL_HEADER)
        start = self._expect(commands.Connection.Start)
        if options.auth_mechanism not in start.mechanisms.split():
            offered = start.mechanisms or "no mechanism here"
            raise AuthenticationFailed(f"the broker offers {offered}, not {options.auth_mechanism}")
        response = f"\0{options.username}\0{options.password}" if options.auth_mechanism == "PLAIN" else ""
        self._answer(
            commands.Connection.StartOk,
            client_properties=client_properties(options),
            mechanism=options.auth_mechanism,
            response=response,
            locale="en_US",
        )
        tune = self._expect(commands.Connection.Tune)
        channel_max = _lower(tune.channel_max, options.channel_max)
        frame_octets_max = _lower(tune.frame_max, options.frame_octets_max)
        heartbeat_s = _lower(tune.heartbeat, options.heartbeat_s) if options.heartbeat_s else 0
        self._answer(
            commands.Connection.TuneOk, channel_max=channel_max, frame_max=frame_octets_max, heartbeat=heartbeat_s
        )
        self._answer(commands.Connection.Open, virtual_host=options.virtual_host)
        self._expect(commands.Connection.OpenOk)
        return Agreed(channel_max, frame_octets_max, heartbeat_s, start.server_properties, self._data)

    def _answer(self, kind: type[base.Frame], **values: Any) -> None:
        self._send(encode_method(0, make_method(kind, **values)))

    def _send(self, octets: bytes) -> None:
        left = memoryview(octets)
        # A peer that hung up may have said why before (a TLS alert): the read that follows returns it, or fails
        # likewise.
        with contextlib.suppress(ConnectionError):
            while left or not self._stream.flush():
                sent = self._stream.send(left) if left else 0
                if not sent:
                    self._stream.wait_writable(self._left())
                left = left[sent:]

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the broker did not finish the handshake in time")
        return left

    def _expect(self, wanted: type[base.Frame]) -> Any:
        method = self._read_method()
        kind = type(method)
        if kind is commands.Connection.Close:
            self._answer(commands.Connection.CloseOk)
            if method.reply_code == _ACCESS_REFUSED and wanted is commands.Connection.Tune:
                raise AuthenticationFailed(method.reply_text)
            raise error_of(method.reply_code, method.reply_text, (method.class_id, method.method_id), hard=True)
        if kind is not wanted:
            raise ConnectionLost(f"{method.name} came where {wanted.name} was due")
        return method

    def _read_method(self) -> Any:
        while True:
            if self._data.startswith(_TLS_ALERT):
                raise ConnectionLost("this port requires TLS: connect with amqps:// or options.tls")
            if self._data.startswith(b"AMQP"):
                raise ConnectionLost(f"the broker speaks another protocol: {self._data[:8]!r}")
            split = split_frame(self._data, 0, _FRAME_OCTETS_MAX)
            if split is not None:
                kind, channel, start, end = split
                payload, self._data = self._data[start:end], self._data[end + 1 :]
                if kind == METHOD and channel == 0:
                    return decode_method(payload)
                continue  # a heartbeat
            octets = self._stream.receive(self._left())
            if not octets:
                raise ConnectionLost(
                    "the broker closed the connection during the handshake; see its log, or try TLS (amqps://)"
                )
            self._data += octets


def _lower(theirs: int, ours: int) -> int:
    """Return the lower of two limits; theirs is 0 for none."""
    return min(theirs, ours) if theirs else ours
