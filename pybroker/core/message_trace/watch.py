"""A destination among a message's own that keeps nothing: it learns which seq the message has, and where it went."""

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
    """Stands before the `queues` of messages: of those with these offsets in what is enqueued, its trace is told.

    It is deleted when all of them are, so that a message without any other destination is unroutable.
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
        """Tell whether all the others are."""
        return all(queue.deleted for queue in self._queues)

    @deleted.setter
    def deleted(self, value: bool) -> None:
        """Ignore it: only the base's start sets it."""

    @property
    def delivers_at_once(self) -> bool:
        """Tell whether one of the others has a consumer for it now (`immediate`)."""
        return any(queue.delivers_at_once for queue in self._queues)

    @property
    def messages(self) -> int:
        """Return that it keeps none."""
        return 0

    @property
    def messages_resident(self) -> int:
        """Return that it keeps none."""
        return 0

    def enqueue(self, run: "Run", indexes: range, receipt: "Receipt") -> None:
        """Tell the trace which messages these are."""
        queues = [queue for queue in self._queues if not queue.deleted]
        with Guard(self._trace):
            for followed, offset in self._messages:
                self._trace.entered(followed, run, indexes[offset], queues, receipt)

    def wake(self) -> None:
        """Have nothing to deliver."""

    def deliver(self, now_ms: int, *, expire: bool = True) -> None:
        """Have nothing to deliver."""
