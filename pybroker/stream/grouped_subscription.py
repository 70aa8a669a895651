"""GroupedSubscription: a subscription of which, in its group, a single one is active.

The peer is told by ConsumerUpdate when it is to begin or to stop, and its answer says where it begins.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.routing.partitions import partitions
from pybroker.stream.offsets import spec_of
from pybroker.stream.subscription import Subscription

if TYPE_CHECKING:
    from pybroker.core.queue.pause import Pause
    from pybroker.core.stream.group import Group
    from pybroker.wire.stream.fields import Offset

# Properties of Subscribe.
SINGLE_ACTIVE: Final = "single-active-consumer"
SUPER_STREAM: Final = "super-stream"


class GroupedSubscription(Subscription):
    """Whether it is active the group decides."""

    __slots__ = ("_group",)

    _group: "Group"

    def start(self) -> None:
        """Wait for its turn in the group, which may be at once."""
        stream = self.queue
        stream.consumers.add(self)
        stream.consumers.pause(self)
        groups = stream.streams.groups
        self._group = groups.group(stream, self.name, self._partition())
        self._group.join(self)

    @property
    def name(self) -> str:
        """Return the group's name."""
        return str(self.arguments["name"])

    @property
    def chosen(self) -> bool:
        """Tell whether it was asked to begin, and not to stop since."""
        return self._group.active is self

    def _partition(self) -> int | None:
        """Return which partition of its super stream the stream is; None if of none."""
        exchange = self.queue.vhost.exchanges.get(str(self.arguments.get(SUPER_STREAM, "")))
        if exchange is None or not self.arguments.get(SUPER_STREAM):
            return None
        streams = [each.destination for each in partitions(exchange)]
        return streams.index(self.queue) if self.queue in streams else None

    def activate(self) -> None:
        """Ask the peer to begin."""
        self.channel.ask_update(self, active=True)

    def step_down(self) -> None:
        """Deliver no more, and ask the peer to stop."""
        self.queue.consumers.pause(self)
        self.queue.detach(self)
        self.channel.ask_update(self, active=False)

    def resume_at(self, begin: "Offset | None") -> None:
        """Begin where the peer answered, or where its subscription said."""
        if not self.chosen:
            return
        self.queue.attach(self, spec_of(self.begin if begin is None else begin), self.filters)
        if self.paused is None:
            self.queue.consumers.unpause(self)
            self.queue.wake()

    def stopped(self) -> None:
        """Learn that the peer has stopped: another one may begin."""
        self._group.stepped_down(self)

    def obey(self, order: "Pause | None") -> None:
        """Be delivered nothing, as an operator ordered; None: go on, if it is its turn."""
        if self.chosen:
            super().obey(order)
        else:
            self.paused = order

    def gone(self) -> None:
        """Leave the group."""
        self.queue.streams.groups.leave(self.queue, self.name, self)
