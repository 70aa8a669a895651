"""Watch: a destination that stores nothing, and tells a trace the seqs of messages and the queues they enter."""

from typing import TYPE_CHECKING, ClassVar

from pybroker.core.message_trace.guard import Guard
from pybroker.core.queue.destination import Destination

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.message_trace.followed import Followed
    from pybroker.core.message_trace.trace import MessageTrace
    from pybroker.run import Run


class Watch(Destination):
    """Precedes the `queues` of messages. `messages` has those to report, by their offsets in what is enqueued.

    It counts as deleted when all queues are, so that a message without any queue is unroutable.
    """

    kind: ClassVar[str] = "watch"

    __slots__ = ("_messages", "_queues", "_trace")

    def __init__(
        self, trace: "MessageTrace", messages: "Sequence[tuple[Followed, int]]", queues: "Sequence[Destination]"
    ) -> None:
        self._queues = queues  # `deleted` asks them, and is set below
        super().__init__(queues[0].vhost, "", durable=False)
        self.use_log(queues[0].log)
        self._trace = trace
        self._messages = messages

    @property
    def deleted(self) -> bool:
        """Tell whether all queues are."""
        return all(queue.deleted for queue in self._queues)

    @deleted.setter
    def deleted(self, value: bool) -> None:
        """Ignore the value, which only the constructor of the base sets."""

    @property
    def delivers_at_once(self) -> bool:
        """Tell whether one of the queues has a consumer for it now (`immediate`)."""
        return any(queue.delivers_at_once for queue in self._queues)

    @property
    def messages(self) -> int:
        """Return 0."""
        return 0

    @property
    def messages_resident(self) -> int:
        """Return 0."""
        return 0

    def enqueue(self, run: "Run", indexes: range, receipt: "Receipt") -> None:
        """Tell the trace the seqs of its messages."""
        queues = [queue for queue in self._queues if not queue.deleted]
        with Guard(self._trace):
            for followed, offset in self._messages:
                self._trace.entered(followed, run, indexes[offset], queues, receipt)

    def wake(self) -> None:
        """Do nothing."""

    def deliver(self, now_ms: int, *, expire: bool = True) -> None:
        """Do nothing."""
