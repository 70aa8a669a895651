"""A broker without sockets: `World` turns the loop by hand, `FakePeer` is a client that speaks through pamqp's frames.

The octets are real, and encoded by somebody else's codec; the time stands still until a test moves it.
"""

import tempfile
from collections import defaultdict
from typing import Any, NamedTuple

from pamqp import base, body, commands, frame, header, heartbeat

from pybroker.amqp.session import AmqpSession
from pybroker.core.broker import Broker
from pybroker.core.settings import Settings
from pybroker.peer import Peer
from pybroker.session import FileOutput, Turn
from pybroker.store.definitions.definitions import Definitions
from pybroker.tls_facts import TlsFacts
from tests.clock import FakeClock

Connection, Channel, Exchange, Queue = commands.Connection, commands.Channel, commands.Exchange, commands.Queue
Basic, Confirm, Tx = commands.Basic, commands.Confirm, commands.Tx

PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
CAPABILITIES = {
    "publisher_confirms": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
}


class Content(NamedTuple):
    """A method with content: basic.deliver, basic.get-ok or basic.return, as it came."""

    method: Any
    properties: Any
    body: bytes

    @property
    def headers(self) -> dict[str, Any]:
        return self.properties.headers or {}


class World:
    """A broker with its clock and its turn in the test's hand."""

    def __init__(self, definitions: Definitions | None = None, **settings: Any) -> None:
        self.clock = FakeClock()
        self.turn = Turn()
        self.broker = Broker(Settings(**settings), self.clock, self.turn, definitions)
        self.peers: dict[Any, FakePeer] = {}
        self._unsent: dict[Any, list[Any]] = {}

    @property
    def vhost(self) -> Any:
        return self.broker.vhosts["/"]

    def run(self) -> None:
        """Turn the loop until nobody has anything to say."""
        turn = self.turn
        for _ in range(1_000):
            turn.woken = False
            self.broker.pump()
            sessions, turn.sessions = turn.sessions, []
            for session in sessions:
                session.dirty = False
                octets, left = take(self._unsent.pop(session, None) or session.pop_output())
                if left:
                    self._unsent[session] = left
                if session in self.peers:
                    self.peers[session].read(octets)
                session.output_sent(sum(map(len, left)))
                if octets and session.output_left:
                    session.mark_dirty()
            behind = [
                session for session in self.peers if session.input_pending and session.readable and not session.finished
            ]
            for session in behind:
                session.receive(b"")
            if not turn.sessions and not turn.queues and not behind:
                return
        raise AssertionError("the loop never came to rest")

    def advance(self, ms: int) -> None:
        """Let time pass, and do what became due."""
        self.clock.advance(ms)
        self.broker.timers.run(self.clock.now_ms)
        self.broker.tick()
        self.run()

    def peer(self, **options: Any) -> "FakePeer":
        """Return a peer that has only just connected: no octet was sent."""
        return FakePeer(self, **options)

    def connect(self, **options: Any) -> "FakePeer":
        """Return a peer whose connection and channel 1 are open."""
        peer = FakePeer(self, **options)
        peer.shake_hands()
        peer.call(Channel.Open())
        return peer


def take(parts: list[Any]) -> tuple[bytes, list[Any]]:
    """Return the octets that a socket gets of these parts, and the rest: of a file that has to be read first."""
    file = parts[-1] if parts and isinstance(parts[-1], FileOutput) else None
    if file is None:
        return b"".join(parts), []
    octets, read = b"".join(parts[:-1]), file.read()
    if read is not None:
        return octets + read, []
    with tempfile.TemporaryFile(buffering=0) as socket:
        while file and file.send(socket.fileno()):
            pass
        socket.seek(0)
        return octets + socket.read(), [file] if file else []


class FakePeer:
    """A client. Received methods are kept by channel until `take`, `call` or `next` hand them out, in order."""

    def __init__(
        self,
        world: World,
        *,
        user: str = "guest",
        password: str = "guest",
        vhost: str = "/",
        frame_octets_max: int = 131_072,
        channel_max: int = 2_047,
        heartbeat_s: int = 0,
        capabilities: dict[str, bool] = CAPABILITIES,
        peer: tuple[str, int] = ("127.0.0.1", 40_000),
        peer_is_local: bool = True,
        tls: TlsFacts | None = None,
    ) -> None:
        self.world = world
        self.user = user
        self.password = password
        self.vhost = vhost
        self.frame_octets_max = frame_octets_max
        self.channel_max = channel_max
        self.heartbeat_s = heartbeat_s
        self.capabilities = capabilities
        self.session = AmqpSession(
            world.broker, Peer(peer, ("127.0.0.1", 5672), peer_is_local, world.broker.clock.now_ms, tls)
        )
        world.peers[self.session] = self
        self.inbox: dict[int, list[Any]] = defaultdict(list)
        self.octets = b""  # all that came and is not decoded yet
        self.heartbeats = 0
        self._partial: dict[int, tuple[Any, Any, list[bytes]]] = {}

    # -- out ----------------------------------------------------------------------------------------------------------

    def send_octets(self, octets: bytes) -> None:
        """Hand octets to the session, as one chunk; nothing is answered before `world.run()`."""
        self.session.receive(octets)

    def send(self, *frames: Any, channel: int = 1) -> None:
        """Hand frames over as one chunk, and run the turn."""
        self.send_octets(b"".join(frame.marshal(f, channel) for f in frames))
        self.world.run()

    def call(self, method: base.Frame, channel: int = 1) -> Any:
        """Send a method; return the first thing that is answered on its channel. Nothing else may be waiting there."""
        assert not self.inbox[channel], f"not read yet on channel {channel}: {self.inbox[channel]}"
        self.send(method, channel=channel)
        return self.next(channel)

    def content_frames(self, content: bytes, properties: dict[str, Any]) -> list[Any]:
        size = self.frame_octets_max - 8
        bodies = [body.ContentBody(content[at : at + size]) for at in range(0, len(content), size)]
        return [header.ContentHeader(0, len(content), Basic.Properties(**properties)), *bodies]

    def publish(
        self,
        exchange: str,
        routing_key: str,
        content: bytes = b"",
        *,
        channel: int = 1,
        mandatory: bool = False,
        immediate: bool = False,
        **properties: Any,
    ) -> None:
        """Publish one message, and run the turn."""
        self.send(
            *self.publish_frames(exchange, routing_key, content, mandatory, immediate, **properties), channel=channel
        )

    def publish_frames(
        self,
        exchange: str,
        routing_key: str,
        content: bytes = b"",
        mandatory: bool = False,
        immediate: bool = False,
        **properties: Any,
    ) -> list[Any]:
        method = Basic.Publish(0, exchange, routing_key, mandatory, immediate)
        return [method, *self.content_frames(content, properties)]

    def disconnect(self) -> None:
        """Vanish: the socket is gone, no close was sent."""
        self.session.peer_gone("the peer is gone")
        self.world.run()

    # -- in -----------------------------------------------------------------------------------------------------------

    def read(self, octets: bytes) -> None:
        """Decode what the broker sent, and check that it obeys what was negotiated."""
        self.octets += octets
        while len(self.octets) >= 8:
            if self.octets[:4] == b"AMQP":
                self.inbox[0].append(self.octets[:8])
                self.octets = self.octets[8:]
                continue
            size = int.from_bytes(self.octets[3:7])
            assert size + 8 <= self.frame_octets_max, "a frame above the negotiated frame_max"
            if len(self.octets) < size + 8:
                return
            used, channel, value = frame.unmarshal(self.octets[: size + 8])
            assert used == size + 8
            self.octets = self.octets[used:]
            self._file(channel, value)

    def _file(self, channel: int, value: Any) -> None:
        match value:
            case heartbeat.Heartbeat():
                assert channel == 0
                self.heartbeats += 1
            case Basic.Deliver() | Basic.GetOk() | Basic.Return():
                assert channel not in self._partial, "a method inside a content"
                self._partial[channel] = (value, None, [])
            case header.ContentHeader():
                method, _, parts = self._partial[channel]
                self._partial[channel] = (method, value, parts)
                self._finish(channel)
            case body.ContentBody():
                self._partial[channel][2].append(value.value)
                self._finish(channel)
            case _:
                assert channel not in self._partial, "a method inside a content"
                self.inbox[channel].append(value)

    def _finish(self, channel: int) -> None:
        method, head, parts = self._partial[channel]
        size = sum(map(len, parts))
        assert size <= head.body_size
        if size == head.body_size:
            del self._partial[channel]
            self.inbox[channel].append(Content(method, head.properties, b"".join(parts)))

    def next(self, channel: int = 1) -> Any:
        """Return the oldest thing that came on `channel`; a connection.close on channel 0 goes before."""
        if self.inbox[channel]:
            return self.inbox[channel].pop(0)
        assert self.inbox[0], f"nothing came on channel {channel}"
        return self.inbox[0].pop(0)

    def error(self, *frames: Any, channel: int = 1) -> tuple[int, str]:
        """Send what must fail; return code and text. A closed channel is opened again, a connection close answered."""
        assert not self.inbox[channel], f"not read yet on channel {channel}: {self.inbox[channel]}"
        self.send(*frames, channel=channel)
        close = self.next(channel)
        index = (close.class_id << 16 | close.method_id) if hasattr(close, "class_id") else None
        assert index == frames[0].index, (close, frames[0])
        if isinstance(close, Connection.Close):
            self.send(Connection.CloseOk(), channel=0)
            assert self.session.finished
        else:
            assert isinstance(close, Channel.Close), close
            self.send(Channel.CloseOk(), channel=channel)
            self.open(channel)
        return close.reply_code, close.reply_text

    def take(self, channel: int = 1) -> list[Any]:
        """Return all that came on `channel`."""
        found, self.inbox[channel] = self.inbox[channel], []
        return found

    def bodies(self, channel: int = 1) -> list[bytes]:
        """Return the bodies of all that came on `channel`, which must be deliveries and nothing else."""
        return [content.body for content in self.take(channel)]

    # -- shorthands ---------------------------------------------------------------------------------------------------

    def shake_hands(self) -> Connection.Start:
        """Open the connection; return connection.start."""
        self.send_octets(PROTOCOL_HEADER)
        self.world.run()
        start = self.next(0)
        response = f"\0{self.user}\0{self.password}"
        tune = self.call(Connection.StartOk({"capabilities": self.capabilities}, "PLAIN", response), 0)
        assert isinstance(tune, Connection.Tune), tune
        self.send(Connection.TuneOk(self.channel_max, self.frame_octets_max, self.heartbeat_s), channel=0)
        if not isinstance(opened := self.call(Connection.Open(self.vhost), 0), Connection.OpenOk):
            # Not an assertion, of which pytest may make a text: tests look at the answer.
            raise AssertionError(opened)  # noqa: TRY004 - the test's, not the caller's
        return start

    def open(self, channel: int) -> None:
        """Open a channel."""
        assert isinstance(self.call(Channel.Open(), channel), Channel.OpenOk)

    def declare(self, queue: str, arguments: dict[str, Any] | None = None, *, channel: int = 1, **flags: bool) -> Any:
        """Declare a queue."""
        return self.call(Queue.Declare(queue=queue, arguments=arguments or {}, **flags), channel)

    def consume(self, queue: str, tag: str = "", *, channel: int = 1, **options: Any) -> str:
        """Subscribe; return the consumer's tag."""
        self.send(Basic.Consume(queue=queue, consumer_tag=tag, **options), channel=channel)
        found = [f for f in self.inbox[channel] if isinstance(f, Basic.ConsumeOk)]
        assert len(found) == 1, self.inbox
        self.inbox[channel].remove(found[0])
        return found[0].consumer_tag

    def get(self, queue: str, *, channel: int = 1, no_ack: bool = True) -> Any:
        """Return what basic.get answers."""
        return self.call(Basic.Get(queue=queue, no_ack=no_ack), channel)

    def drain(self, queue: str, channel: int = 1) -> list[Content]:
        """Take everything ready out of a queue by basic.get."""
        found = []
        while not isinstance(reply := self.get(queue, channel=channel), Basic.GetEmpty):
            assert isinstance(reply, Content), reply
            found.append(reply)
        return found
