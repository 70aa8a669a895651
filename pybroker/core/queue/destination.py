"""Destinations of routes and bindings: a queue, or the schedule of a delayed exchange.

The base knows where its messages are logged and whose turn it is. Each kind decides how messages are kept and who gets
them and when. This is the interface that publishers, timers and a start use for all kinds.
"""

from typing import TYPE_CHECKING, ClassVar, Final

from pybroker.store.log import companion_of

if TYPE_CHECKING:
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.queue import recover
    from pybroker.core.queue.pause import Pause
    from pybroker.core.topology.vhost import VHost
    from pybroker.run import Run
    from pybroker.store.log import Log

# Messages and octets: more than there will ever be.
UNLIMITED: Final = (1 << 62, 1 << 62)


class Companion:
    """Something that a destination has in the log beside its messages: `id` is what the log calls it."""

    messages: ClassVar[int] = 0
    counts_deliveries: ClassVar[bool] = False

    __slots__ = ("id",)

    def __init__(self, queue_id: int) -> None:
        self.id = companion_of(queue_id)

    def restore(self, parts: "list[recover.Part]", others: int, returned: "recover.Returned | None" = None) -> None:
        """Take what the log had for it when the broker started."""
        raise NotImplementedError


class Destination:
    """`id` is what the `log` calls it, never used twice; persistent messages of a `durable` one are kept there.

    It is `awake` while it stands in the turn's line. `republishes` tells that it publishes its messages on, so that
    nobody reads them there, `retains` that messages stay when they are read,
    `has_files` that it has a folder of its own.
    """

    kind: ClassVar[str] = ""
    republishes: ClassVar[bool] = False
    retains: ClassVar[bool] = False
    has_files: bool = False

    __slots__ = ("awake", "bounded", "deleted", "durable", "id", "log", "name", "one_by_one", "paused", "vhost")

    def __init__(self, vhost: "VHost", name: str, *, durable: bool) -> None:
        broker = vhost.broker
        self.vhost = vhost
        self.name = name
        self.durable = durable
        self.id = broker.next_queue
        broker.next_queue += 1
        self.log: Log = broker.log
        self.awake = self.deleted = False
        self.bounded = False  # the age of each message may matter, or how many there are
        self.paused: Pause | None = None  # an operator's order
        self.one_by_one = False  # each message that comes is looked at alone

    def use_log(self, log: "Log") -> None:
        """Log what comes from now on there."""
        self.log = log

    # -- what publishers ask ------------------------------------------------------------------------------------------

    def enqueue(self, run: "Run", indexes: range, receipt: "Receipt") -> None:
        """Take messages of a run; those that are refused go to the receipt."""
        raise NotImplementedError

    @property
    def backlogged(self) -> bool:
        """Tell whether consumers are at work and behind, so that publishers are read less."""
        return False

    @property
    def delivers_at_once(self) -> bool:
        """Tell whether a consumer would get a message now (`immediate`)."""
        return False

    def has_room(self, octets: int) -> bool:  # noqa: ARG002 - most have
        """Tell whether it would take a message whose body has so many octets."""
        return True

    def room(self) -> tuple[int, int]:
        """Return how many messages more it may have, and how many octets of bodies, whatever it does with others."""
        return UNLIMITED

    # -- what anybody asks --------------------------------------------------------------------------------------------

    @property
    def messages(self) -> int:
        """Return how many messages it has."""
        raise NotImplementedError

    @property
    def messages_resident(self) -> int:
        """Return how many of those that wait have their contents in memory."""
        raise NotImplementedError

    @property
    def octets_resident(self) -> int:
        """Return the octets of the bodies that could leave the memory."""
        return 0

    @property
    def companions(self) -> tuple[Companion, ...]:
        """Return what it has in the log beside its messages."""
        return ()

    def note_files(self) -> None:
        """Note that it has a folder of its own: a start that does not find it tells of the loss."""

    def discard(self) -> None:
        """Learn that it is deleted, and its row gone."""

    # -- when it is its turn ------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Ask the pump for a delivery at the end of this turn."""
        if not self.awake and not self.deleted:
            turn = self.vhost.broker.turn
            turn.queues.append(self)
            self.awake = True
            if not turn.woken:
                turn.wake()

    def deliver(self, now_ms: int, *, expire: bool = True) -> None:
        """Do a turn's share of giving messages out; the rest wakes it again."""
        raise NotImplementedError

    @property
    def due_times(self) -> tuple[int, ...]:
        """Return when the timers are to look at it, on the clock's now_ms; a time that is not ahead is not set."""
        raise NotImplementedError

    def due(self, now_ms: int) -> int:
        """Do what is due; return what that cost, in messages that expire."""
        raise NotImplementedError

    # -- after a start ------------------------------------------------------------------------------------------------

    @property
    def counts_deliveries(self) -> bool:
        """Tell whether the log is to know how often its messages were delivered."""
        return False

    def restore(self, parts: "list[recover.Part]", others: int, returned: "recover.Returned | None" = None) -> None:
        """Take what the log had for it when the broker started.

        `returned` says which came back, and how often; the `others` were delivered so often.
        """
        raise NotImplementedError
