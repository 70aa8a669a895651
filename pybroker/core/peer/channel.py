"""PeerChannel: a channel whose replies may have to wait for the disk, and everything that it says after them.

The core has already done the work; only the answer waits. Does not know frames.
"""

from typing import TYPE_CHECKING

from pybroker.core.channel.state import ChannelState
from pybroker.core.channel.throttle import RepliesCause
from pybroker.core.peer.reply_queue import NEVER, ReplyQueue
from pybroker.errors import InternalError

if TYPE_CHECKING:
    from pybroker.core.peer.reply_queue import Reply, Say, Source
    from pybroker.core.peer.session import PeerSession


class PeerChannel(ChannelState):
    """While a reply waits for the disk there is a `reply_queue`, and all that is sent stands in it."""

    __slots__ = ("number", "reply_queue")

    session: "PeerSession"

    def __init__(self, session: "PeerSession", number: int) -> None:
        super().__init__(session)
        self.number = number
        self.reply_queue: ReplyQueue | None = None

    def send_octets(self, octets: bytes) -> None:
        """Send whole frames, behind the replies that wait for the disk."""
        if self.reply_queue is None:
            self.session.send(octets)
        else:
            self._queue_reply(octets)

    def send_octets_when(self, octets: bytes, source: "Source", commit_position: int) -> None:
        """Send whole frames when `source` has completed a position. Raises InternalError (541) if it never will."""
        if commit_position <= source.completed:
            self.send_octets(octets)
        else:
            self.wait_for(octets, source, commit_position)

    def reserve_octets(self, octets: bytes) -> "Reply":
        """Keep the place of a reply that is sent before what its change of definitions brings about."""
        return self._queue_reply(octets, NEVER)

    def release(self, reply: "Reply", commit_position: int) -> None:
        """Let a reply go whose place was kept, when the definitions are on disk up to a position."""
        reply.wait(self.session.broker.definitions, commit_position)
        self.advance()

    def wait_for(self, say: "Say", source: "Source", commit_position: int) -> "Reply":
        """Keep the place of a reply, and say it when `source` has completed a position. Raises InternalError (541)."""
        if source.failed:
            raise InternalError(source.failed)
        return self._queue_reply(say, source, commit_position)

    def _queue_reply(self, say: "Say", source: "Source | None" = None, commit_position: int = 0) -> "Reply":
        reply_queue = self.reply_queue
        if reply_queue is None:
            reply_queue = self.reply_queue = ReplyQueue()
            self.replies_began()
            self.session.broker.waiting[self] = None
        reply = reply_queue.add(say, source, commit_position)
        if reply_queue.is_long:
            self.session.stop_reading(RepliesCause(self.number))
        return reply

    def advance(self) -> None:
        """Send replies that need not wait any longer. One that can never be sent closes the connection."""
        reply_queue, session = self.reply_queue, self.session
        if reply_queue is None:
            return
        while (say := reply_queue.pop()) is not None:
            for octets in (say,) if isinstance(say, bytes) else say():
                session.send(octets)
        if reply_queue.failed:
            # The connection, not the channel: what RabbitMQ's clients take for the node's fault, and recover from.
            self.replies_failed(InternalError(reply_queue.failed))
        elif not reply_queue:
            self.drop_line()
            self.replies_ended()
        elif reply_queue.is_short and not session.readable:
            session.resume_reading(RepliesCause(self.number))

    def drop_line(self) -> None:
        """Forget what was to be said: nobody listens any more, or all of it was."""
        reply_queue, self.reply_queue = self.reply_queue, None
        if reply_queue is not None:
            self.session.broker.waiting.pop(self, None)
            self.session.resume_reading(RepliesCause(self.number))

    def replies_began(self) -> None:
        """Learn that a reply waits."""

    def replies_ended(self) -> None:
        """Learn that none waits any longer."""

    def replies_failed(self, error: InternalError) -> None:
        """Learn that one will wait for ever."""
        raise NotImplementedError
