"""StreamSession: one peer of the stream protocol. Octets in, octets out; no sockets.

`input` reads the octets. A refused request is answered with its code and changes nothing; an unknown frame closes the
connection.
"""

import logging
from typing import TYPE_CHECKING, Any

from pybroker.core.auth.permissions import check_vhost
from pybroker.core.peer.session import PeerSession
from pybroker.core.peer.slice_buffers import SLICE_OCTETS
from pybroker.core.peer.states import ENDING, State
from pybroker.log_event import event
from pybroker.stream import input as stream_input
from pybroker.stream.channel import StreamChannel
from pybroker.stream.delivery import Delivery
from pybroker.wire.stream.codes import Code, Key
from pybroker.wire.stream.commands import Close
from pybroker.wire.stream.frame import frame

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.peer import Peer

# The correlation id of our Close, as RabbitMQ's.
CLOSE_ID = 1

log = logging.getLogger("pybroker.connection")


class StreamSession(PeerSession):
    """States: header (nothing came), starting, securing, tuning, opening, running, closing (we sent Close), closed.

    `channel` has what an open connection has: it is none that list_channels would show. Chunks are delivered with the
    committed offset if the peer `knows_committed`.
    """

    protocol = "stream"
    kind = "stream"
    heartbeat = frame(Key.HEARTBEAT)
    close_answer = "the answer to Close"

    __slots__ = ("_buffer", "channel", "knows_committed")

    def __init__(self, broker: "Broker", peer: "Peer") -> None:
        super().__init__(broker, peer, broker.settings.stream_frame_octets_max_initial)
        self.channel = StreamChannel(self)
        self.knows_committed = False
        self._buffer: memoryview | None = None  # has the slices that are being sent

    # -- what it has counted ------------------------------------------------------------------------------------------

    @property
    def published(self) -> int:
        """Return how many messages it has published."""
        return self.channel.published

    @property
    def delivered(self) -> int:
        """Return how many messages were delivered to it."""
        return self.channel.delivered_no_ack

    def tick(self) -> None:
        """Do what is due each second; end the connection of a peer on whose answer a group waits for too long."""
        super().tick()
        if self.readable and not self.closing and self.channel.is_late:
            text = f"closing stream connection {self.pid} ({self.name}): no answer to ConsumerUpdate"
            self.broker.warn("stream.answer_late", f"late answer {self.id}", text, self)
            self.cut_off("no answer to ConsumerUpdate")

    # -- in -----------------------------------------------------------------------------------------------------------

    def reading_resumed(self) -> None:
        """Read the peer again; answers of the meantime have not been seen, so they were not late."""
        if not self.finished:
            self.channel.renew_updates()
        super().reading_resumed()

    def receive(self, data: bytes) -> None:
        """Take octets as they came from the peer."""
        stream_input.receive(self, data)

    # -- ends ---------------------------------------------------------------------------------------------------------

    def fail(self, code: Code, text: str, why: str) -> None:
        """Close the connection for a frame that is wrong, with a code and a text for the peer."""
        if self.state in ENDING:
            return
        extra = event("connection.error", self, reply_code=int(code))
        log.error("Error on connection %s (%s): %s", self.pid, self.name, why, extra=extra)
        if self.state is State.RUNNING:
            self._send_close(code, text)
        else:
            self.finish(why)  # RabbitMQ tells only those of it that have logged in

    def close(self, reply_code: int, text: str) -> None:
        """Close from our side: an operator's wish, the daemon's stop, or a bug."""
        if self.state in ENDING:
            return
        if self.state is State.RUNNING and reply_code != 320:
            self._send_close(Code.INTERNAL_ERROR, text)
        else:
            # RabbitMQ only closes the socket, and there are clients that know no Close but their own.
            self.finish(text)

    def _send_close(self, code: Code, text: str) -> None:
        self.let_go(text)
        self.await_close(text, known=True)
        self.send(Close(CLOSE_ID, code, text).octets)

    def let_go(self, why: str) -> None:
        """Give back all that the peer had."""
        self.channel.leave(why)

    def peer_gone(self, reason: str) -> None:
        """Learn that the socket is closed; then there is no channel any more."""
        if self.id in self.broker.sessions:
            super().peer_gone(reason)
            del self.channel  # it points back, and nobody collects circles of objects that are old

    def refuse(self, octets: bytes, reason: str, at_ms: int) -> None:
        """Turn away a peer with an answer that leaves no sooner than `at_ms`; nothing else of it is kept until then."""
        self.client_properties = {}
        self.send(octets)
        self.answer_at_ms = at_ms
        self.finish(reason)

    # -- out ----------------------------------------------------------------------------------------------------------

    def pop_output(self) -> list[Any]:
        """Give away the octets to be sent; of large chunks one slice, if all that was given before is sent."""
        if not self.output_left:
            return super().pop_output()
        outbox, parts, at, given = self.outbox, [], 0, 0
        while at < len(outbox) and given < SLICE_OCTETS:
            part = outbox[at]
            if isinstance(part, Delivery):
                octets = part.give(given)
                if not octets:
                    break
                at += part.is_given
            elif given + len(part) > SLICE_OCTETS:
                view, left = memoryview(part), SLICE_OCTETS - given
                octets, outbox[at] = view[:left], view[left:]
            else:
                octets = part
                at += 1
            parts.append(octets)
            given += len(octets)
            if octets is part and isinstance(part, Delivery):
                break  # it is the last one
        del outbox[:at]
        self.unsent_octets += given
        self.queued_octets -= given
        self.output_left = bool(outbox)
        return parts

    def room(self, taken: int) -> memoryview:
        """Return room for the rest of a slice that is given away next."""
        if self._buffer is None:
            self._buffer = self.broker.streams.shared_reads.buffers.borrow()
        return self._buffer[taken:]

    def output_sent(self, octets_left: int) -> None:
        """Learn what the kernel did not accept."""
        if not octets_left and self._buffer is not None:
            self.broker.streams.shared_reads.buffers.give_back(self._buffer)
            self._buffer = None
        super().output_sent(octets_left)

    def resume_deliveries(self) -> None:
        """Serve its subscriptions again."""
        if not self.finished:
            self.channel.resume_consumers()

    def check_vhost(self) -> None:
        """Check that the user may be in the virtual host still. Raises NotAllowed."""
        assert self.user is not None
        assert self.vhost is not None
        check_vhost(self.user, self.vhost.name)
