"""AmqpSession: one AMQP 0-9-1 peer. Octets in, octets out; no sockets.

`input.py` reads the octets and catches every AmqpError. The session applies the error: soft ones close the channel,
hard ones the connection (AMQP §4.8.1).
"""

import logging
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from pamqp import base, commands

from pybroker.amqp import alive, blocking, input as amqp_input
from pybroker.amqp.consumer_timeout import UNREAD_NEVER_MS
from pybroker.amqp.log_name import described, fields
from pybroker.amqp.states import BROKER_CLOSES, END, ENDING, HANDSHAKE, State, after
from pybroker.core.auth.certificate import certificate_of
from pybroker.core.channel.requeue import give_back
from pybroker.core.channel.state import SessionState
from pybroker.core.channel.throttle import PEER
from pybroker.core.events import connections as connection_events
from pybroker.core.events.cause import because
from pybroker.core.topology.removal_steps import remove_owned
from pybroker.log_event import event
from pybroker.peer import connection_name
from pybroker.wire.methods import encode_method, make_method
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.core.auth.certificate import Certificate
    from pybroker.core.broker import Broker
    from pybroker.core.channel.throttle import PauseCause
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.publish import Route
    from pybroker.core.topology.removal import Removal
    from pybroker.errors import AmqpError
    from pybroker.peer import Peer
    from pybroker.wire.content import Event

# Deliveries stop when this much waits to be sent, and go on at half of it.
OUTBOX_OCTETS_MAX: Final = 262_144
# Replies, confirms and returns may come on top; above this the peer is not read until it reads. Deliveries do not
# count: input adds none, and a client that publishes before it reads on must be read.
REPLY_OCTETS_MAX: Final = 1_048_576
# How long a peer may take to answer connection.close before the socket is closed under it.
CLOSE_TIMEOUT_MS: Final = 10_000
CLOSE_TIMEOUT_UNAUTHENTICATED_MS: Final = 1_000
# How long it may take a peer to read the last output, close-ok at its end, as in RabbitMQ.
LAST_OUTPUT_TIMEOUT_MS: Final = 30_000

log = logging.getLogger("pybroker.connection")


class AmqpSession(SessionState):
    """States: header, starting, securing, tuning, opening, running, closing (we sent close), closed."""

    protocol = "AMQP 0-9-1"
    reply_octets_max: Final = REPLY_OCTETS_MAX
    channels: "dict[int, AmqpChannel]"

    __slots__ = (
        "assembling",
        "auth_mechanism",
        "capabilities",
        "channel_max",
        "client_properties",
        "confirming",
        "connected_at_ms",
        "deadline_ms",
        "events",
        "frame_octets_max",
        "heartbeat_s",
        "host",
        "input_broken",
        "last_recv_ms",
        "last_send_ms",
        "limits_offered",
        "outbox",
        "peer_host",
        "peer_is_local",
        "peer_port",
        "port",
        "queued_octets",
        "reason",
        "reply_octets",
        "rest",
        "routes",
        "scan_octets_max",
        "sharing",
        "sharing_octets",
        "state",
        "told_blocked",
        "unread_ms",
        "unsent_octets",
        "until_ms",
        "whole_at",
        "work",
    )

    def __init__(self, broker: "Broker", peer: "Peer") -> None:
        session_id = broker.next_session
        broker.next_session += 1
        super().__init__(broker, broker.turn, session_id)
        settings, now_ms = broker.settings, broker.clock.now_ms
        self.peer_host, self.peer_port = peer.address
        self.host, self.port = peer.local
        self.peer_is_local = peer.is_local
        self.tls = peer.tls
        self.state = State.HEADER
        self.reason = ""
        self.auth_mechanism = ""
        self.client_properties: Table = Table()
        self.capabilities: dict[str, Any] = {}
        self.channel_max = 0
        self.limits_offered = (0, 0)  # frame_max, channel_max of connection.tune; a reload may have changed them since
        self.frame_octets_max = settings.frame_octets_max_initial
        self.scan_octets_max = 0
        self.sharing: Route | None = None  # the route of the last publish of this chunk
        self.sharing_octets = 0
        self.whole_at = 0  # of what was received, where the last publish ended that came whole
        self.heartbeat_s = 0
        self.connected_at_ms = broker.clock.timestamp_ms
        self.deadline_ms = peer.accepted_ms + settings.handshake_timeout_ms
        self.last_recv_ms = self.last_send_ms = now_ms
        self.unread_ms = UNREAD_NEVER_MS  # when a tick last found that the peer is not read
        self.rest = b""
        self.input_broken = False  # a frame was cut wrong: where the next one begins is not known
        self.told_blocked = False
        self.routes: dict[bytes, Route] = {}
        self.events: list[Event] = []  # what the scanner found and is not done yet
        self.work = 0  # units of some microseconds since somebody last looked at the clock
        self.until_ms = 0
        self.assembling = 0  # channels in the middle of a content, by the frame path
        self.confirming: dict[AmqpChannel, None] = {}
        self.outbox: list[bytes] = []
        self.queued_octets = 0
        self.unsent_octets = 0
        self.reply_octets = 0  # of both, what are no deliveries: so many at most
        broker.sessions[session_id] = self

    # -- what others ask ----------------------------------------------------------------------------------------------

    @property
    def pid(self) -> str:
        """Return the connection's id as rabbitmqctl shows one: `<node.epoch.number.0>`."""
        return f"<{self.broker.settings.node_name}.{self.broker.epoch}.{self.id}.0>"

    @property
    def name(self) -> str:
        """Return `127.0.0.1:40000 -> 127.0.0.1:5672`."""
        return connection_name((self.peer_host, self.peer_port), (self.host, self.port))

    @property
    def certificate(self) -> "Certificate":
        """Return the peer's certificate; one without names if it brought none."""
        return certificate_of(self.tls)

    @property
    def in_handshake(self) -> bool:
        """Tell whether the connection is not open yet."""
        return self.state in HANDSHAKE

    @property
    def send_pend(self) -> int:
        """Return the octets that wait to be sent."""
        return self.queued_octets + self.unsent_octets

    @property
    def shown_state(self) -> str:
        """Return the state for list_connections: alarms win over `flow`, which is shown some seconds longer (E6)."""
        if self.state is not State.RUNNING:
            return self.state.value
        if self.broker.alarms:
            return "blocked" if self.throttle.blocked else "blocking"
        if self.throttle.paused_by is not None:
            return "blocked"
        return "flow" if self.throttle.in_flow(self.broker.clock.now_ms) else "running"

    # -- in -----------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take octets as they came from the peer."""
        amqp_input.receive(self, data)

    def spent(self) -> bool:
        """Tell whether the rest of what was received has to wait: for others, or for the peer to read its replies.

        Asked when `work` has come to some hundred units, because the clock costs as much as a small method does.
        """
        clock = self.broker.clock
        clock.refresh()
        if clock.now_ms >= self.until_ms or not self.readable:
            return True
        self.work = 0
        return False

    def log_fields(self) -> dict[str, object]:
        """Return what the log says about this connection, by the names of the fields."""
        return fields(self)

    # -- errors and ends ----------------------------------------------------------------------------------------------

    def channel_failed(self, channel: "AmqpChannel", error: "AmqpError", method: tuple[int, int]) -> None:
        """Close the channel for a soft error; pass a hard one on."""
        if error.method == (0, 0):
            error.method = method
        if error.hard:
            raise error
        log.error(
            "Channel error on connection %s (%s), channel %d: %s",
            self.pid,
            self.name,
            channel.number,
            error.reply_text,
            extra=event("channel.error", self, channel=channel.number, reply_code=error.reply_code),
        )
        channel.fail(error)

    def fail(self, error: "AmqpError") -> None:
        """Close the connection for a hard error; while it is closing another one changes nothing."""
        if self.state in ENDING:
            return
        extra = event("connection.error", self, reply_code=error.reply_code)
        log.error("Error on connection %s (%s): %s", self.pid, self.name, error.reply_text, extra=extra)
        self._send_close(error.reply_code, error.reply_text, error.method)

    def close(self, reply_code: int, text: str) -> None:
        """Close from our side: 320 for an operator's wish or the daemon's stop."""
        if self.state in (State.HEADER, State.CLOSED):
            self.finish(text)
        elif self.state is not State.CLOSING:
            self._send_close(reply_code, f"CONNECTION_FORCED - {text}" if reply_code == 320 else text, (0, 0))

    def _send_close(self, reply_code: int, reply_text: str, method: tuple[int, int]) -> None:
        known = self.state is State.RUNNING
        self.end_channels(reply_text)
        self.state = after(self.state, BROKER_CLOSES)
        self.reason = reply_text
        self.closing = True
        self._read_again()
        self.assembling = 0
        self.deadline_ms = self.broker.clock.now_ms + (CLOSE_TIMEOUT_MS if known else CLOSE_TIMEOUT_UNAUTHENTICATED_MS)
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

    def _read_again(self) -> None:
        """Have the peer read, whatever held it: its publishes go nowhere, and its close-ok comes after them."""
        for cause in list(self.throttle.causes):
            self.resume_reading(cause)
        if not self.readable:  # its password is being checked
            self.readable = True
            self.reading_resumed()

    def end_channels(self, why: str) -> "Removal":
        """Requeue unacknowledged messages and delete exclusive queues; any that are declared again go first (F42)."""
        channels, self.channels = self.channels, {}
        if channels:
            self.count_channels(-len(channels))
        queues: dict[Queue, None] = {}
        batches: list[Batch] = []
        for channel in channels.values():
            channel.drop_line()
            channel.routes_open = 0  # they all go, below
            left, had = channel.leave()
            queues |= left
            batches += had
            self.channel_closed(channel)
        self.routes.clear()
        self.events.clear()
        self.confirming.clear()
        requeue = give_back(batches, requeue=True, failed=True)
        exclusive, self.exclusive_queues = list(self.exclusive_queues), {}
        unused_cause = because(f"auto-delete: the connection of its last consumer ended: {why}", self)
        cause = because(f"exclusive: its connection ended: {why}", self)
        return self.broker.removals.start(partial(remove_owned, list(queues), unused_cause, exclusive, requeue), cause)

    def finish(self, reason: str) -> None:
        """Have the socket closed as soon as the output is written."""
        self.end_channels(self.reason or reason)
        self.leave()
        self.state = after(self.state, END)
        self.reason = self.reason or reason
        self.closing = self.finished = True
        self.deadline_ms = self.broker.clock.now_ms + LAST_OUTPUT_TIMEOUT_MS
        self.mark_dirty()

    def refuse(self, error: "AmqpError", at_ms: int) -> None:
        """Turn away a peer that may not log in, no sooner than `at_ms`; only the answer is kept until then."""
        self.client_properties = Table()
        # Clients of before 2013 take a closed socket for the answer.
        if self.capabilities.get("authentication_failure_close") is True:
            self.send(_refusal(error.reply_code, error.reply_text))
        self.answer_at_ms = at_ms
        self.finish("login refused")

    def cut_off(self, reason: str) -> None:
        """Have the socket closed at once: a peer that is silent or does not answer does not read either."""
        self.finish(reason)
        self.close_now = True

    def peer_gone(self, reason: str) -> None:
        """Learn that the socket is closed."""
        if self.broker.sessions.pop(self.id, None) is None:
            return
        if self.state is State.HEADER and not self.recv_octets:
            # A health check; as a warning it would fill the log with itself.
            extra = event("connection.probed", self)
            log.debug("closing AMQP connection %s (%s): no data received", self.pid, self.name, extra=extra)
        elif self.state not in ENDING:
            extra = event("connection.lost", self)
            log.warning("closing AMQP connection %s (%s): %s", self.pid, described(self), reason, extra=extra)
        elif self.state is State.CLOSED and self.user is not None:
            why, extra = self.reason or reason, event("connection.closed", self)
            log.info("closing AMQP connection %s (%s): %s", self.pid, described(self), why, extra=extra)
        self.end_channels(self.reason or reason)
        self.broker.totals.churn.count("connections_closed")
        if self.state is not State.HEADER:
            connection_events.connection_closed(self, self.reason or reason)
        self.broker.ends.notify_session(self)
        self.leave()
        self.credit.end()
        self.broker.beating.pop(self, None)
        self.state = after(self.state, END)
        self.closing = self.finished = self.close_now = True
        self.outbox.clear()
        self.rest = b""
        if self.link is not None:
            self.mark_dirty()  # somebody else knew before our own driver did (F42)

    def peer_alive(self) -> bool:
        """Tell whether the peer's socket still stands; asked by an exclusive declare of another session (F42)."""
        return self.link is None or bool(self.link.peer_alive())

    def tick(self) -> None:
        """Send heartbeats, notice a silent peer, enforce the handshake's and the close's deadline."""
        alive.tick(self)

    def beat(self) -> None:
        """Do what cannot wait for the next tick: the heartbeats of a connection with a short interval."""
        alive.beat(self, alive.BEAT_MS)

    def reading_resumed(self) -> None:
        """Read the peer again; its input of the meantime has not been seen, so it was not silent."""
        self.last_recv_ms = self.broker.clock.now_ms
        super().reading_resumed()

    def heed_alarms(self) -> None:
        """Go on or be blocked as the alarms say, and tell a peer that wants to know, once (E9)."""
        if self.state is not State.RUNNING:
            return
        super().heed_alarms()
        blocking.notify(self)

    def first_published(self) -> None:
        """Learn that it publishes, and tell it if an alarm blocks it for that."""
        super().first_published()
        blocking.notify(self)

    def withhold(self, cause: "PauseCause") -> None:
        """Leave a publish, and what is behind it, until a queue is resumed."""
        blocking.withhold(self, cause)

    def heed_pauses(self) -> None:
        """Go on if no paused queue is in the way any more."""
        blocking.heed_pauses(self)

    # -- out ----------------------------------------------------------------------------------------------------------

    def send(self, octets: bytes) -> None:
        """Queue octets for the end of the turn."""
        self.outbox.append(octets)
        self.reply_octets += len(octets)
        self.queued(len(octets))
        if self.reply_octets > REPLY_OCTETS_MAX:
            self.stop_reading(PEER)

    def send_method(self, channel: int, method: base.Frame) -> None:
        """Queue a method frame."""
        self.send(encode_method(channel, method))

    def queued(self, octets: int) -> None:
        """Count octets that were put into `outbox`, and stop deliveries when that is enough."""
        self.queued_octets += octets
        if self.queued_octets + self.unsent_octets > OUTBOX_OCTETS_MAX:
            self.outbox_full = True
        if not self.dirty:
            self.mark_dirty()

    def pop_output(self) -> list[bytes]:
        """Give away the octets to be sent."""
        out, self.outbox = self.outbox, []
        self.unsent_octets += self.queued_octets
        self.queued_octets = 0
        return out

    def output_sent(self, octets_left: int) -> None:
        """Learn what the kernel did not accept; let deliveries go on when the peer has caught up."""
        self.send_octets += self.unsent_octets - octets_left
        self.send_count += 1
        self.unsent_octets = octets_left
        self.last_send_ms = self.broker.clock.now_ms
        total = octets_left + self.queued_octets
        self.reply_octets = min(self.reply_octets, total)
        if not self.readable and self.reply_octets <= REPLY_OCTETS_MAX // 2:
            self.resume_reading(PEER)
        if self.outbox_full and total <= OUTBOX_OCTETS_MAX // 2:
            self.outbox_full = False
            for channel in list(self.channels.values()):
                channel.resume_consumers()


@lru_cache(16)
def _refusal(reply_code: int, reply_text: str) -> bytes:
    """Return a connection.close for a refused login; there are few different ones, and a flood of each."""
    method = make_method(
        commands.Connection.Close, reply_code=reply_code, reply_text=reply_text, class_id=0, method_id=0
    )
    return encode_method(0, method)
