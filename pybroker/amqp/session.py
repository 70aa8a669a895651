"""AmqpSession: one AMQP 0-9-1 peer. Octets in, octets out; no sockets.

`input.py` reads the octets and catches every AmqpError. The session applies the error: soft ones close the channel,
hard ones the connection (AMQP §4.8.1).
"""

import logging
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from pamqp import base, commands

from pybroker.amqp import blocking, consumer_timeout, input as amqp_input
from pybroker.amqp.states import BROKER_CLOSES, after
from pybroker.core.channel.requeue import give_back
from pybroker.core.events.cause import because
from pybroker.core.peer.session import PeerSession
from pybroker.core.peer.states import ENDING, State
from pybroker.core.topology.removal_steps import remove_owned
from pybroker.log_event import event
from pybroker.wire.frame import HEARTBEAT_FRAME
from pybroker.wire.methods import encode_method, make_method
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.core.broker import Broker
    from pybroker.core.channel.throttle import PauseCause
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.publish import Route
    from pybroker.core.topology.removal import Removal
    from pybroker.errors import AmqpError
    from pybroker.peer import Peer
    from pybroker.wire.content import Event

log = logging.getLogger("pybroker.connection")


class AmqpSession(PeerSession):
    """States: header, starting, securing, tuning, opening, running, closing (we sent close), closed."""

    protocol = "AMQP 0-9-1"
    kind = "AMQP"
    heartbeat = HEARTBEAT_FRAME
    close_answer = "connection.close-ok"
    channels: "dict[int, AmqpChannel]"

    __slots__ = (
        "assembling",
        "capabilities",
        "channel_max",
        "confirming",
        "events",
        "input_broken",
        "limits_offered",
        "routes",
        "scan_octets_max",
        "sharing",
        "sharing_octets",
        "told_blocked",
        "unread_ms",
        "whole_at",
    )

    def __init__(self, broker: "Broker", peer: "Peer") -> None:
        super().__init__(broker, peer, broker.settings.frame_octets_max_initial)
        self.client_properties: Table = Table()
        self.capabilities: dict[str, Any] = {}
        self.channel_max = 0
        self.limits_offered = (0, 0)  # frame_max, channel_max of connection.tune; a reload may have changed them since
        self.scan_octets_max = 0
        self.sharing: Route | None = None  # the route of the last publish of this chunk
        self.sharing_octets = 0
        self.whole_at = 0  # of what was received, where the last publish ended that came whole
        self.unread_ms = consumer_timeout.UNREAD_NEVER_MS  # when a tick last found that the peer is not read
        self.input_broken = False  # a frame was cut wrong: where the next one begins is not known
        self.told_blocked = False
        self.routes: dict[bytes, Route] = {}
        self.events: list[Event] = []  # what the scanner found and is not done yet
        self.assembling = 0  # channels in the middle of a content, by the frame path
        self.confirming: dict[AmqpChannel, None] = {}

    # -- in -----------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take octets as they came from the peer."""
        amqp_input.receive(self, data)

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
        assert after(self.state, BROKER_CLOSES) is State.CLOSING
        self.await_close(reply_text, known=known)
        self.assembling = 0
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

    def let_go(self, why: str) -> "Removal":
        """Give back all that the peer had."""
        return self.end_channels(why)

    def end_channels(self, why: str) -> "Removal":
        """Requeue unacknowledged messages and delete exclusive queues; any that are declared again go first."""
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

    def refuse(self, error: "AmqpError", at_ms: int) -> None:
        """Turn away a peer that may not log in, no sooner than `at_ms`; only the answer is kept until then."""
        self.client_properties = Table()
        # Clients of before 2013 take a closed socket for the answer.
        if self.capabilities.get("authentication_failure_close") is True:
            self.send(_refusal(error.reply_code, error.reply_text))
        self.answer_at_ms = at_ms
        self.finish("login refused")

    # -- what its base asks -------------------------------------------------------------------------------------------

    def found_unread(self, now_ms: int) -> None:
        """Learn that a tick found the peer not being read: it could not acknowledge anything."""
        self.unread_ms = now_ms

    def watch_deliveries(self, now_ms: int) -> None:
        """Give back deliveries that time out."""
        consumer_timeout.check(self, now_ms)

    def tell_blocked(self) -> None:
        """Tell a peer that wants to know whether it is blocked; once."""
        blocking.notify(self)

    def is_withheld(self, cause: "PauseCause") -> bool:
        """Tell whether the publish or commit that waits would be withheld again."""
        if self.events and self.events[0][0] is not None:
            return blocking.is_publish_withheld(self)
        return super().is_withheld(cause)  # the queues of a commit are known

    # -- out ----------------------------------------------------------------------------------------------------------

    def send_method(self, channel: int, method: base.Frame) -> None:
        """Queue a method frame."""
        self.send(encode_method(channel, method))


@lru_cache(16)
def _refusal(reply_code: int, reply_text: str) -> bytes:
    """Return a connection.close for a refused login; there are few different ones, and a flood of each."""
    method = make_method(
        commands.Connection.Close, reply_code=reply_code, reply_text=reply_text, class_id=0, method_id=0
    )
    return encode_method(0, method)
