"""A broker that does what a test says: it shakes hands by itself, and then the test is the broker, octet by octet."""

import queue
import socket
import ssl
import threading
from concurrent.futures import Future
from typing import Any

from pamqp import base, commands

from pybroker.client import Address, Connection, Options
from pybroker.wire.frame import METHOD, PROTOCOL_HEADER, frame, split_frame
from pybroker.wire.methods import decode_method, encode_method, make_method

WAIT_S = 60.0


def in_thread(function, *arguments, **options) -> "Future[Any]":
    """Call it in a thread, as an application's thread would; return its future."""
    future: Future[Any] = Future()

    def run():
        try:
            future.set_result(function(*arguments, **options))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the future tells it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


class Peer:
    """The broker's end of one connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.socket.settimeout(WAIT_S)
        self.data = b""

    def read(self) -> tuple[int, int, bytes]:
        """Return (type, channel, payload) of the next frame."""
        while True:
            split = split_frame(self.data, 0, 0)
            if split is not None:
                kind, channel, start, end = split
                payload, self.data = self.data[start:end], self.data[end + 1 :]
                return kind, channel, payload
            chunk = self.socket.recv(1 << 16)
            if not chunk:
                raise EOFError
            self.data += chunk

    def expect(self, wanted: type[base.Frame]) -> Any:
        """Return the next method, leaving out contents and heartbeats; it must be of that class."""
        while True:
            kind, channel, payload = self.read()
            if kind == METHOD:
                method = decode_method(payload)
                if type(method) is not commands.Basic.Publish or wanted is commands.Basic.Publish:
                    break
        assert type(method) is wanted, method.name
        self.channel = channel
        return method

    def say(self, kind: type[base.Frame], channel: int = 1, **values: Any) -> None:
        """Send a method."""
        self.socket.sendall(encode_method(channel, make_method(kind, **values)))

    def send_frame(self, kind: int, channel: int, payload: bytes) -> None:
        """Send a frame."""
        self.socket.sendall(frame(kind, channel, payload))

    def shake_hands(self, tune: dict[str, int]) -> None:
        """Be a broker until the connection is open."""
        while len(self.data) < 8:
            self.data += self.socket.recv(8)
        assert self.data[:8] == PROTOCOL_HEADER
        self.data = self.data[8:]
        self.say(
            commands.Connection.Start,
            0,
            version_minor=9,
            server_properties={"product": "scripted"},
            mechanisms="PLAIN EXTERNAL",
            locales="en_US",
        )
        self.start_ok = self.expect(commands.Connection.StartOk)
        self.say(commands.Connection.Tune, 0, **tune)
        self.tune_ok = self.expect(commands.Connection.TuneOk)
        self.open = self.expect(commands.Connection.Open)
        self.say(commands.Connection.OpenOk, 0)

    def close(self) -> None:
        self.socket.close()


class ScriptedBroker:
    """A listening socket; every connection shakes hands, unless `greets` is off, and is then there to `accept`."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.context = context
        self.tune = {"channel_max": 100, "frame_max": 131_072, "heartbeat": 0}
        self.greets = True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self.listener.getsockname())
        self.peers: queue.Queue[Peer] = queue.Queue()
        self.all: list[Peer] = []
        self.connections: list[Connection] = []

    def __enter__(self):
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        for peer in self.all:
            peer.close()
        for connection in self.connections:
            connection.close()

    def options(self, **options: Any) -> Options:
        defaults = {"addresses": (self.address,), "close_timeout_s": 0.2, "recovery_delay_s": 0.02}
        return Options(**(defaults | options))

    def connect(self, **options: Any) -> tuple[Connection, Peer]:
        """Return both ends of a connection."""
        self.connections.append(Connection(self.options(**options)))
        return self.connections[-1], self.accept()

    def accept(self) -> Peer:
        """Return the broker's end of the next connection."""
        return self.peers.get(timeout=WAIT_S)

    def open_channel(self, connection: Connection, peer: Peer):
        """Return a channel of the connection."""
        future = in_thread(connection.channel)
        peer.expect(commands.Channel.Open)
        peer.say(commands.Channel.OpenOk, peer.channel)
        return future.result(WAIT_S)

    def _listen(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            try:
                if self.context is not None:
                    sock = self.context.wrap_socket(sock, server_side=True)
            except OSError:
                continue  # the client does not trust it
            peer = Peer(sock)
            self.all.append(peer)
            try:
                if self.greets:
                    peer.shake_hands(self.tune)
            except (OSError, EOFError):
                continue
            self.peers.put(peer)
