"""PeerSession: the part of a peer's session that is the same for every protocol. Octets out, states, ends.

A door extends it: it reads the octets, and says how a close and a heartbeat look.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.auth.certificate import certificate_of
from pybroker.core.auth.permissions import check_vhost
from pybroker.core.auth.quota import check_connection
from pybroker.core.channel.state import SessionState
from pybroker.core.channel.throttle import PEER
from pybroker.core.events import connections as connection_events
from pybroker.core.peer import alive
from pybroker.core.peer.log_name import called, described, fields
from pybroker.core.peer.states import ENDING, HANDSHAKE, State
from pybroker.core.queue.pause import withholding
from pybroker.log_event import event
from pybroker.peer import connection_name

if TYPE_CHECKING:
    from pybroker.core.auth.certificate import Certificate
    from pybroker.core.broker import Broker
    from pybroker.core.channel.throttle import PauseCause
    from pybroker.core.topology.removal import Removal
    from pybroker.peer import Peer

# Deliveries stop when this much waits to be sent, and go on at half of it.
OUTBOX_OCTETS_MAX: Final = 262_144
# Replies, confirms and returns may come on top; above this the peer is not read until it reads. Deliveries do not
# count: input adds none, and a client that publishes before it reads on must be read.
REPLY_OCTETS_MAX: Final = 1_048_576
# How long a peer may take to answer a close before the socket is closed under it.
CLOSE_TIMEOUT_MS: Final = 10_000
CLOSE_TIMEOUT_UNAUTHENTICATED_MS: Final = 1_000
# How long it may take a peer to read the last output, the answer to its close at the end, as in RabbitMQ.
LAST_OUTPUT_TIMEOUT_MS: Final = 30_000

log = logging.getLogger("pybroker.connection")


class PeerSession(SessionState):
    """`protocol` is its name for people, `kind` in the log; `heartbeat` are the octets of one.

    `name` is `127.0.0.1:40000 -> 127.0.0.1:5672`, `pid` the connection's id as rabbitmqctl shows one,
    `<node.epoch.number.0>`. `queued_octets` wait in the outbox, `unsent_octets` were handed over but not yet accepted
    by the kernel, and `reply_octets` is an upper bound on how many of both are not deliveries. `rest` was received and
    is not parsed yet.
    """

    protocol: ClassVar[str]
    kind: ClassVar[str]
    heartbeat: ClassVar[bytes]
    close_answer: ClassVar[str]
    reply_octets_max: Final = REPLY_OCTETS_MAX
    channel_max: int = 0

    __slots__ = (
        "auth_mechanism",
        "client_properties",
        "connected_at_ms",
        "deadline_ms",
        "frame_octets_max",
        "heartbeat_s",
        "host",
        "last_recv_ms",
        "last_send_ms",
        "lost",
        "name",
        "outbox",
        "peer_host",
        "peer_is_local",
        "peer_port",
        "pid",
        "port",
        "queued_octets",
        "reason",
        "reply_octets",
        "rest",
        "state",
        "unsent_octets",
        "until_ms",
        "work",
    )

    def __init__(self, broker: "Broker", peer: "Peer", frame_octets_max: int) -> None:
        session_id = broker.next_session
        broker.next_session += 1
        super().__init__(broker, broker.turn, session_id)
        now_ms = broker.clock.now_ms
        self.peer_host, self.peer_port = peer.address
        self.host, self.port = peer.local
        self.name = connection_name(peer.address, peer.local)
        self.pid = f"<{broker.settings.node_name}.{broker.epoch}.{session_id}.0>"
        self.peer_is_local = peer.is_local
        self.tls = peer.tls
        self.state = State.HEADER
        self.reason = ""
        self.auth_mechanism = ""
        self.client_properties: dict[str, Any] = {}
        self.frame_octets_max = frame_octets_max
        self.heartbeat_s = 0
        self.connected_at_ms = broker.clock.timestamp_ms
        self.deadline_ms = peer.accepted_ms + broker.settings.handshake_timeout_ms
        self.last_recv_ms = self.last_send_ms = now_ms
        self.rest = b""
        self.outbox: list[Any] = []  # octets, and what a door makes into octets when they are sent
        self.queued_octets = 0
        self.unsent_octets = 0
        self.reply_octets = 0
        self.lost = False  # cut off without a word
        self.work = 0  # units of some microseconds since somebody last looked at the clock
        self.until_ms = 0
        broker.sessions[session_id] = self

    # -- what others ask ----------------------------------------------------------------------------------------------

    @property
    def client_name(self) -> str:
        """Return what the client calls its connection, `""`: nothing."""
        name = self.client_properties.get("connection_name")
        return name if isinstance(name, str) else ""

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
        """Return the state for list_connections: alarms win over `flow`, which is shown some seconds longer."""
        if self.state is not State.RUNNING:
            return self.state.value
        if self.broker.alarms:
            return "blocked" if self.throttle.blocked else "blocking"
        if self.throttle.paused_by is not None:
            return "blocked"
        return "flow" if self.throttle.in_flow(self.broker.clock.now_ms) else "running"

    def log_fields(self) -> dict[str, object]:
        """Return what the log says about this connection, by the names of the fields."""
        return fields(self)

    # -- the handshake's end -------------------------------------------------------------------------------------------

    def enter_named(self, vhost_name: str) -> None:
        """Enter a virtual host. Raises NotAllowed (530): there is none, a limit is reached, or the user may not."""
        broker, user = self.broker, self.user
        assert user is not None
        check_connection(broker, user, vhost_name)
        check_vhost(user, vhost_name)
        self.enter(broker.vhosts[vhost_name])

    def opened(self) -> None:
        """Count that the connection is open; when there is time, tell whoever follows events, and the log."""
        self.broker.totals.churn.count("connections_opened")
        self.broker.events.delay(partial(connection_events.connection_created, self))
        self.turn.when_spare("log", self._log_opened)

    def _log_opened(self) -> None:
        assert self.user is not None
        assert self.vhost is not None
        log.info(
            "connection %s (%s): user %.256r authenticated and granted access to vhost %.256r",
            self.pid,
            called(self),
            self.user.name,
            self.vhost.name,
            extra=event("connection.opened", self),
        )

    # -- in -----------------------------------------------------------------------------------------------------------

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

    # -- ends ---------------------------------------------------------------------------------------------------------

    def let_go(self, why: str) -> "Removal | None":
        """Give back all that the peer had in the broker; return what goes on in shares, if anything. Idempotent."""
        raise NotImplementedError

    def read_anyway(self) -> None:
        """Have the peer read, whatever held it: its publishes go nowhere, and its last answer comes after them."""
        for cause in list(self.throttle.causes):
            self.resume_reading(cause)
        if not self.readable:  # its password is being checked
            self.readable = True
            self.reading_resumed()

    def await_close(self, reason: str, *, known: bool) -> None:
        """Wait for the answer to a close that is being sent; not for long if the peer is not `known`."""
        self.state = State.CLOSING
        self.reason = reason
        self.closing = True
        self.read_anyway()
        self.deadline_ms = self.broker.clock.now_ms + (CLOSE_TIMEOUT_MS if known else CLOSE_TIMEOUT_UNAUTHENTICATED_MS)

    def finish(self, reason: str) -> None:
        """Have the socket closed as soon as the output is written."""
        self.let_go(self.reason or reason)
        self.leave()
        self.state = State.CLOSED
        self.reason = self.reason or reason
        self.closing = self.finished = True
        self.deadline_ms = self.broker.clock.now_ms + LAST_OUTPUT_TIMEOUT_MS
        self.mark_dirty()

    def cut_off(self, reason: str) -> None:
        """Have the socket closed at once: a peer that is silent or does not answer does not read either."""
        self.lost = self.state not in ENDING
        self.finish(reason)
        self.close_now = True

    def peer_gone(self, reason: str) -> None:
        """Learn that the socket is closed."""
        if self.broker.sessions.pop(self.id, None) is None:
            return
        # Behind the line that it is open, if that waits still.
        self.turn.when_spare("log", partial(self._log_end, self.state, reason))
        self.let_go(self.reason or reason)
        self.broker.totals.churn.count("connections_closed")
        self.broker.totals.session_ended(self)
        if self.state is not State.HEADER:
            # At once: the next connection from the same port has the same name.
            connection_events.connection_closed(self, self.reason or reason)
        self.broker.ends.notify_session(self)
        self.leave()
        self.credit.end()
        self.broker.beating.pop(self, None)
        self.state = State.CLOSED
        self.closing = self.finished = self.close_now = True
        self.outbox.clear()
        self.rest = b""
        if self.link is not None:
            self.mark_dirty()  # somebody else knew before our own driver did

    def _log_end(self, state: State, reason: str) -> None:
        """Log why it ended, and in which state it was."""
        if state is State.HEADER and not self.recv_octets:
            # A health check; as a warning it would fill the log with itself.
            extra = event("connection.probed", self)
            log.debug("closing %s connection %s (%s): no data received", self.kind, self.pid, self.name, extra=extra)
        elif self.lost or state not in ENDING:
            why, extra = self.reason or reason, event("connection.lost", self)
            if self.user is not None:
                log.warning("closing %s connection %s (%s): %s", self.kind, self.pid, described(self), why, extra=extra)
            else:
                # Anybody who reaches the port can cause it.
                text = f"closing {self.kind} connection {self.pid} ({described(self)}): {why}"
                self.broker.warn("connection.lost", f"lost {self.peer_host}", text, self)
        elif self.user is not None:
            why, extra = self.reason or reason, event("connection.closed", self)
            log.info("closing %s connection %s (%s): %s", self.kind, self.pid, described(self), why, extra=extra)

    def peer_alive(self) -> bool:
        """Tell whether the peer's socket still stands; asked by an exclusive declare of another session."""
        return self.link is None or bool(self.link.peer_alive())

    # -- time ---------------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Send heartbeats, notice a silent peer, enforce the handshake's and the close's deadline."""
        alive.tick(self)

    def beat(self) -> None:
        """Do what cannot wait for the next tick: the heartbeats of a connection with a short interval."""
        alive.beat(self, alive.BEAT_MS)

    def agree_heartbeat(self, interval_s: int) -> None:
        """Take the interval of heartbeats that the peer chose; 0: there are none."""
        self.heartbeat_s = interval_s
        if 0 < interval_s <= alive.SHORT_INTERVAL_S:
            self.broker.beating[self] = None

    def found_unread(self, now_ms: int) -> None:
        """Learn that a tick found the peer not being read."""

    def watch_deliveries(self, now_ms: int) -> None:
        """Do what old deliveries call for, once a second."""

    # -- when it is not read ------------------------------------------------------------------------------------------

    def reading_resumed(self) -> None:
        """Read the peer again; its input of the meantime has not been seen, so it was not silent."""
        self.last_recv_ms = self.broker.clock.now_ms
        super().reading_resumed()

    def heed_alarms(self) -> None:
        """Go on or be blocked as the alarms say, and tell a peer that wants to know, once."""
        if self.state is not State.RUNNING:
            return
        super().heed_alarms()
        self.tell_blocked()

    def withhold(self, cause: "PauseCause") -> None:
        """Leave a publish, and what is behind it, until what is paused is resumed."""
        self.input_pending = True
        self.stop_reading(cause)
        self.tell_blocked()

    def heed_pauses(self) -> None:
        """Go on with the input if what was withheld would reach nothing paused now."""
        cause = self.throttle.paused_by
        if cause is not None and not self.is_withheld(cause):
            self.resume_reading(cause)
            self.tell_blocked()

    def is_withheld(self, cause: "PauseCause") -> bool:
        """Tell whether the input would be withheld again; here if what the cause names is paused still."""
        queue = None if self.vhost is None else self.vhost.queues.get(cause.name)
        return queue is not None and withholding([queue]) is not None

    def first_published(self) -> None:
        """Learn that it publishes, and tell it if an alarm blocks it for that."""
        super().first_published()
        self.tell_blocked()

    def tell_blocked(self) -> None:
        """Tell a peer whether it is blocked, if its protocol has words for that and it wants to know."""

    # -- out ----------------------------------------------------------------------------------------------------------

    def send(self, octets: bytes) -> None:
        """Queue octets for the end of the turn."""
        self.outbox.append(octets)
        self.reply_octets += len(octets)
        self.queued(len(octets))
        if self.reply_octets > REPLY_OCTETS_MAX:
            self.stop_reading(PEER)

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
            self.resume_deliveries()

    def resume_deliveries(self) -> None:
        """Serve the consumers of all channels again."""
        for channel in list(self.channels.values()):
            channel.resume_consumers()
