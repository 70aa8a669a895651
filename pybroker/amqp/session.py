"""AmqpSession: one AMQP 0-9-1 peer. Octets in, octets out; no sockets.

Two ways lead in. `wire.content.scan` takes whole publishes and acks out of a chunk at once; everything else, and
everything that is wrong, incomplete or interleaved, goes frame by frame, and means the same. Errors are raised where
they are found and caught here only: soft ones close the channel, hard ones the connection (AMQP §4.8.1).
"""

import logging
from typing import TYPE_CHECKING, Any, Final

from pamqp import base, commands

from pybroker.amqp.channel import PUBLISH, AmqpChannel
from pybroker.amqp.methods import CHANNEL_METHODS, CONNECTION_METHODS, access
from pybroker.amqp.publishing import publish_event, share
from pybroker.core.link import SessionState
from pybroker.errors import AmqpError, ChannelError, CommandInvalid, NotAllowed, UnexpectedFrame
from pybroker.wire import frame
from pybroker.wire.content import Event, scan
from pybroker.wire.methods import decode_method, encode_method, make_method
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.publish import Route

# Deliveries stop when this much waits to be sent, and go on at half of it (requirements.md: outbox).
OUTBOX_OCTETS_MAX: Final = 262_144
# Replies, confirms and returns may come on top; above this the peer is not read until it reads.
REPLY_OCTETS_MAX: Final = 1_048_576
# How much of a new chunk is joined to what was left of the last one: a frame and a small one behind it.
JOIN_OCTETS: Final = 135_168
# How long a peer may take to answer connection.close before the socket is closed under it.
CLOSE_TIMEOUT_MS: Final = 10_000
CLOSE_TIMEOUT_UNAUTHENTICATED_MS: Final = 1_000

log = logging.getLogger("pybroker.connection")


class AmqpSession(SessionState):
    """States: header, starting, tuning, opening, running, closing (we sent close), closed."""

    protocol = "AMQP 0-9-1"

    __slots__ = (
        "assembling",
        "auth_mechanism",
        "capabilities",
        "channel_max",
        "channels",
        "client_properties",
        "confirming",
        "connected_at_ms",
        "deadline_ms",
        "deaf",
        "events",
        "frame_octets_max",
        "heartbeat_s",
        "host",
        "last_recv_ms",
        "last_send_ms",
        "outbox",
        "peer_host",
        "peer_is_local",
        "peer_port",
        "port",
        "queued_octets",
        "reason",
        "rest",
        "routes",
        "scan_octets_max",
        "sharing",
        "sharing_octets",
        "state",
        "unsent_octets",
    )

    def __init__(self, broker: "Broker", peer: tuple[str, int], local: tuple[str, int], *, peer_is_local: bool) -> None:
        session_id = broker.next_session
        broker.next_session += 1
        super().__init__(broker, broker.turn, session_id)
        settings, now_ms = broker.settings, broker.clock.now_ms
        self.peer_host, self.peer_port = peer
        self.host, self.port = local
        self.peer_is_local = peer_is_local
        self.state = "header"
        self.reason = ""
        self.auth_mechanism = ""
        self.client_properties: Table = Table()
        self.capabilities: dict[str, Any] = {}
        self.channels: dict[int, AmqpChannel] = {}
        self.channel_max = 0
        self.frame_octets_max = settings.frame_octets_max_initial
        self.scan_octets_max = 0
        self.sharing: Route | None = None  # the route of the last publish of this chunk
        self.sharing_octets = 0
        self.heartbeat_s = 0
        self.connected_at_ms = broker.clock.timestamp_ms
        self.deadline_ms = now_ms + settings.handshake_timeout_ms
        self.last_recv_ms = self.last_send_ms = now_ms
        self.rest = b""
        self.deaf = False  # a frame was cut wrong: where the next one begins is not known
        self.routes: dict[bytes, Route] = {}
        self.events: list[Event] = []
        self.assembling = 0  # channels in the middle of a content, by the frame path
        self.confirming: dict[AmqpChannel, None] = {}
        self.outbox: list[bytes] = []
        self.queued_octets = 0
        self.unsent_octets = 0
        broker.sessions[session_id] = self

    # -- what others ask ----------------------------------------------------------------------------------------------

    @property
    def pid(self) -> str:
        """Return the connection's id as rabbitmqctl shows one: `<node.epoch.number.0>`."""
        return f"<{self.broker.settings.node_name}.{self.broker.epoch}.{self.id}.0>"

    @property
    def name(self) -> str:
        """Return `127.0.0.1:40000 -> 127.0.0.1:5672`."""
        if not self.peer_port:
            return f"{self.peer_host} -> {self.host}"
        return f"{self.peer_host}:{self.peer_port} -> {self.host}:{self.port}"

    @property
    def send_pend(self) -> int:
        """Return the octets that wait to be sent."""
        return self.queued_octets + self.unsent_octets

    # -- in -----------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take octets as they came from the peer."""
        self.recv_octets += len(data)
        self.last_recv_ms = self.broker.clock.now_ms
        if self.deaf:
            return
        position = 0
        try:
            if self.rest:
                rest, self.rest = self.rest, b""
                if len(data) > 2 * JOIN_OCTETS:
                    # Complete what was cut alone: joining all would copy the whole chunk for the sake of one frame.
                    position = self._receive(rest + data[:JOIN_OCTETS], 0) - len(rest)
                    if position < 0:
                        data = rest + data
                        position += len(rest)
                else:
                    data = rest + data
            position = self._receive(data, position)
        except AmqpError as error:
            self.deaf = True
            self.fail(error)
            return
        if self.confirming:
            for channel in self.confirming:
                channel.send_confirms()
            self.confirming.clear()
        if self.sharing is not None:
            share(self, self.sharing, self.sharing_octets)
            self.sharing = None
        if position < len(data) and not self.finished:
            self.rest = data[position:]

    def _receive(self, data: bytes, position: int) -> int:
        """Process what is complete in `data` from `position` on; return where the rest begins.

        Raises FrameError (501) where the octets are no frames; what a good frame does wrong is answered here, so that
        we still understand what comes behind it: the peer's connection.close-ok.
        """
        end = len(data)
        if self.state == "header":
            if end < 8:
                if not frame.PROTOCOL_HEADER.startswith(data):
                    self._refuse_header()
                    return end
                return 0
            if not data.startswith(frame.PROTOCOL_HEADER):
                self._refuse_header()
                return end
            CONNECTION_METHODS["start"](self, None)
            position = 8
        events = self.events
        message_max = self.broker.settings.message_octets_max
        self.read_octets = 0
        self.held_by = None
        while position < end and not self.finished:
            if not self.assembling and self.state == "running":
                position = scan(data, position, self.routes, self.scan_octets_max, message_max, events)
                if events:
                    try:
                        for event in events:
                            self._apply(event)
                    except AmqpError as error:
                        self.fail(error)
                    finally:
                        events.clear()
                if position >= end:
                    break
            split = frame.split_frame(data, position, self.frame_octets_max)
            if split is None:
                break
            kind, number, start, stop = split
            try:
                if kind == frame.BODY:
                    self._receive_body(number, data[position : stop + 1])
                else:
                    self._receive_frame(kind, number, data[start:stop])
            except AmqpError as error:
                self.fail(error)
            position = stop + 1
        return position

    def _refuse_header(self) -> None:
        """Answer a header that is not ours with the one we speak, and close (§4.2.2)."""
        self.send(frame.PROTOCOL_HEADER)
        self.reason = "bad protocol header"
        self.state = "closed"
        self.closing = self.finished = True

    def _apply(self, event: Event) -> None:
        """Do what the scanner found; a soft error closes the channel and spares the others."""
        channel: AmqpChannel | None
        if event[0] is None:
            _, number, first, last, multiple = event
            channel = self.channels.get(number)
            if channel is None:
                raise ChannelError("expected 'channel.open'", (60, 80))
            if channel.closing:
                return
            try:
                channel.ack(first, last, multiple=multiple)
            except AmqpError as error:
                self.channel_failed(channel, error, (60, 80))
            return
        channel = event[0].owner
        assert channel is not None
        if channel.closing:
            return
        try:
            publish_event(channel, event)
        except AmqpError as error:
            self.channel_failed(channel, error, PUBLISH)

    def _receive_frame(self, kind: int, number: int, payload: bytes) -> None:
        if kind == frame.HEARTBEAT:
            if number:
                raise frame.unexpected_frame(kind, payload)
            return
        if number == 0:
            if kind != frame.METHOD:
                raise frame.unexpected_frame(kind, payload)
            self._connection_method(payload)
            return
        if self.state != "running":
            if self.state in ("closing", "closed"):
                return
            raise UnexpectedFrame(f"a frame on channel {number} before connection.open") from None
        channel = self.channels.get(number)
        if channel is None:
            channel = self._new_channel(number, payload if kind == frame.METHOD else b"")
        if channel.closing and not (kind == frame.METHOD and payload[:4] in (b"\0\x14\0\x28", b"\0\x14\0\x29")):
            return  # channel.close and channel.close-ok are all that counts after our channel.close
        try:
            if kind != frame.METHOD or channel.assembly is not None:
                channel.receive_content(kind, payload)
            elif payload.startswith(b"\0\x3c\0\x28"):
                channel.begin_publish(payload)
            else:
                self._channel_method(channel, payload)
        except AmqpError as error:
            method = (int.from_bytes(payload[:2]), int.from_bytes(payload[2:4])) if kind == frame.METHOD else PUBLISH
            self.channel_failed(channel, error, method)

    def _receive_body(self, number: int, octets: bytes) -> None:
        """Take a body frame, whole: it is kept as it is."""
        channel = self.channels.get(number)
        if channel is None:
            self._receive_frame(frame.BODY, number, octets[7:-1])
        elif not channel.closing:
            try:
                channel.receive_body(octets)
            except AmqpError as error:
                self.channel_failed(channel, error, PUBLISH)

    def _connection_method(self, payload: bytes) -> None:
        method = decode_method(payload)
        if self.state in ("closing", "closed") and not isinstance(
            method, (commands.Connection.Close, commands.Connection.CloseOk)
        ):
            return
        handler = CONNECTION_METHODS.get(method.name)
        index = (method.index >> 16, method.index & 0xFFFF)
        if handler is None:
            raise ChannelError(f"unexpected method in connection state {self.state}", index)
        try:
            handler(self, method)
        except AmqpError as error:
            if error.method == (0, 0):
                error.method = index
            raise

    def _new_channel(self, number: int, payload: bytes) -> AmqpChannel:
        # As in RabbitMQ channel_max limits how many are open, not their numbers; aiormq counts on that.
        if payload[:4] != b"\0\x14\0\x0a":
            method = (int.from_bytes(payload[:2]), int.from_bytes(payload[2:4]))
            raise ChannelError("expected 'channel.open'", method)
        if self.channel_max and len(self.channels) >= self.channel_max:
            count = len(self.channels)
            raise NotAllowed(
                f"number of channels opened ({count}) has reached the negotiated channel_max ({self.channel_max})",
                (20, 10),
            )
        channel = self.channels[number] = AmqpChannel(self, number)
        return channel

    def _channel_method(self, channel: AmqpChannel, payload: bytes) -> None:
        if payload.startswith(access.REQUEST) and not channel.starting:
            access.access_request(channel, payload)
            return
        method = decode_method(payload)
        handler = CHANNEL_METHODS.get(method.name)
        if handler is None:
            raise CommandInvalid("unimplemented method")
        handler(channel, method)

    # -- errors and ends ----------------------------------------------------------------------------------------------

    def channel_failed(self, channel: AmqpChannel, error: AmqpError, method: tuple[int, int]) -> None:
        """Close the channel for a soft error; pass a hard one on."""
        if error.method == (0, 0):
            error.method = method
        if error.hard:
            raise error
        log.error(
            "Channel error on connection %s (%s), channel %d: %s", self.pid, self.name, channel.number, error.reply_text
        )
        channel.fail(error)

    def fail(self, error: AmqpError) -> None:
        """Close the connection for a hard error; while it is closing another one changes nothing."""
        if self.state in ("closing", "closed"):
            return
        log.error("Error on connection %s (%s): %s", self.pid, self.name, error.reply_text)
        self._send_close(error.reply_code, error.reply_text, error.method)

    def close(self, reply_code: int, text: str) -> None:
        """Close from our side: 320 for an operator's wish or the daemon's stop."""
        if self.state in ("header", "closed"):
            self.finish(text)
        elif self.state != "closing":
            self._send_close(reply_code, f"CONNECTION_FORCED - {text}" if reply_code == 320 else text, (0, 0))

    def _send_close(self, reply_code: int, reply_text: str, method: tuple[int, int]) -> None:
        known = self.state == "running"
        self.end_channels()
        self.state = "closing"
        self.reason = reply_text
        self.closing = True
        self.rest = b""
        self.assembling = 0
        timeout_ms = CLOSE_TIMEOUT_MS if known else CLOSE_TIMEOUT_UNAUTHENTICATED_MS
        self.deadline_ms = self.broker.clock.now_ms + timeout_ms
        self.send_method(
            0,
            make_method(
                commands.Connection.Close,
                reply_code=reply_code,
                reply_text=reply_text,
                class_id=method[0],
                method_id=method[1],
            ),
        )

    def end_channels(self) -> None:
        """Requeue what is unacknowledged and delete what is exclusive: before anybody else's next declare (F42)."""
        channels, self.channels = self.channels, {}
        for channel in channels.values():
            channel.end()
        self.routes.clear()
        self.confirming.clear()
        for queue in list(self.exclusive_queues):
            queue.vhost.delete_queue(queue)

    def finish(self, reason: str) -> None:
        """Have the socket closed as soon as the output is written."""
        self.end_channels()
        self.state = "closed"
        self.reason = self.reason or reason
        self.closing = self.finished = True
        self.mark_dirty()

    def peer_gone(self, reason: str) -> None:
        """Learn that the socket is closed."""
        if self.broker.sessions.pop(self.id, None) is None:
            return
        if self.state not in ("closed", "closing"):
            log.warning("closing AMQP connection %s (%s): %s", self.pid, self.name, reason)
        elif self.state == "closed" and self.user is not None:
            log.info("closing AMQP connection %s (%s): %s", self.pid, self.name, self.reason or reason)
        self.end_channels()
        self.state = "closed"
        self.closing = self.finished = True
        self.outbox.clear()
        self.rest = b""

    def peer_alive(self) -> bool:
        """Tell whether the peer's socket still stands; asked by an exclusive declare of another session (F42)."""
        return self.link is None or bool(self.link.peer_alive())

    def tick(self) -> None:
        """Send heartbeats, notice a silent peer, enforce the handshake's and the close's deadline."""
        now_ms = self.broker.clock.now_ms
        if self.state != "running":
            if now_ms >= self.deadline_ms and not self.finished:
                self.finish("timeout waiting for connection.close-ok" if self.closing else "handshake_timeout")
            return
        interval_ms = self.heartbeat_s * 1000
        if not interval_ms:
            return
        if now_ms - self.last_send_ms >= interval_ms // 2 - 500:
            self.send(frame.HEARTBEAT_FRAME)
        if self.readable and now_ms - self.last_recv_ms > 2 * interval_ms:
            self.outbox.clear()  # nobody reads it
            self.finish(f"missed heartbeats from client, timeout: {self.heartbeat_s}s")

    # -- out ----------------------------------------------------------------------------------------------------------

    def send(self, octets: bytes) -> None:
        """Queue octets for the end of the turn."""
        self.outbox.append(octets)
        self.queued(len(octets))

    def send_method(self, channel: int, method: base.Frame) -> None:
        """Queue a method frame."""
        self.send(encode_method(channel, method))

    def queued(self, octets: int) -> None:
        """Count octets that were put into `outbox`, and stop deliveries when that is enough."""
        self.queued_octets = total = self.queued_octets + octets
        total += self.unsent_octets
        if total > OUTBOX_OCTETS_MAX:
            self.outbox_full = True
            if total > REPLY_OCTETS_MAX:
                self.readable = False
        if not self.dirty:
            self.mark_dirty()

    def take_output(self) -> list[bytes]:
        """Give away the octets to be sent."""
        out, self.outbox = self.outbox, []
        self.unsent_octets += self.queued_octets
        self.queued_octets = 0
        return out

    def output_sent(self, octets_left: int) -> None:
        """Learn what the kernel did not accept; let deliveries go on when the peer has caught up."""
        self.send_octets += self.unsent_octets - octets_left
        self.unsent_octets = octets_left
        self.last_send_ms = self.broker.clock.now_ms
        total = octets_left + self.queued_octets
        if not self.readable and total <= REPLY_OCTETS_MAX // 2:
            self.readable = True
        if self.outbox_full and total <= OUTBOX_OCTETS_MAX // 2:
            self.outbox_full = False
            for channel in list(self.channels.values()):
                channel.resume_consumers()
