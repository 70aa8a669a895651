"""Log: the core's interface to a group's log. Seqs, commit positions, and what is settled.

`store/memory.py` is the null engine, `store/journal/journal.py` the one on disk: it gathers what is appended into
batches, and `completed` grows when one of them is on disk.
"""

from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Final, TypeVar, TypeVarTuple

from pybroker.errors import AmqpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.run import Run
    from pybroker.seq_ranges import SeqRanges

    # Gets what could be read, ascending by seq: a run, and which of its messages were asked for.
    Fetched = Callable[[list[tuple[Run, range]]], None]

# So much may wait for the disk: enough for it never to wait for the network.
UNCOMMITTED_OCTETS_MAX: Final = 33_554_432
# In the id of what a queue has in the log beside its messages.
COMPANION: Final = 1 << 63


def companion_of(queue_id: int) -> int:
    """Return the id under which the log keeps what a queue has beside its messages: live, or gone, by itself."""
    return queue_id | COMPANION


L = TypeVar("L", bound="Log")
Arguments = TypeVarTuple("Arguments")


def ends_the_log(step: "Callable[[L, *Arguments], None]") -> "Callable[[L, *Arguments], None]":
    """Have an exception in a step end the log: nobody knows which of its changes were made."""

    @wraps(step)
    def guarded(self: L, /, *arguments: *Arguments) -> None:
        try:
            step(self, *arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, no commit position may complete behind it
            self.fail(error)

    return guarded


class Log:
    """Invariants: seqs never repeat; positions only grow; changes with a position up to `completed` survive a crash.

    Messages appended with seqs below `safe_seq` are on disk, so that their contents may leave the memory and be
    fetched. `uncommitted_octets` waits for the disk; above the maximum no publisher is read. `failed` says why nothing
    more can be written, `stalled` why confirms wait for something else than the disk; empty: all is well.
    """

    __slots__ = (
        "completed",
        "failed",
        "next_seq",
        "safe_seq",
        "stalled",
        "uncommitted_octets",
        "uncommitted_octets_max",
    )

    def __init__(self) -> None:
        self.next_seq = 1
        self.completed = 0
        self.safe_seq = 0
        self.uncommitted_octets = 0
        self.uncommitted_octets_max = UNCOMMITTED_OCTETS_MAX
        self.failed = self.stalled = ""

    @property
    def commit_position(self) -> int:
        """Return the commit position of what is being gathered; 0 when nothing is."""
        return 0

    def take(self, count: int) -> int:
        """Return the first of `count` seqs that nobody has."""
        first = self.next_seq
        self.next_seq = first + count
        return first

    def append(self, run: "Run", indexes: range, queue_ids: tuple[int, ...]) -> int:
        """Record that messages of `run` reached these durable queues; return the position to wait for, 0: none."""
        raise NotImplementedError

    @contextmanager
    def together(self) -> "Iterator[None]":
        """Have the calls of a block stand or fall together: they are in one batch, as all of one turn's call are.

        If a bug, or want of memory, breaks the block off, half of them must not be committed: the log ends. An
        AmqpError is the peer's fault, and raised before anything is changed.
        """
        try:
            yield
        except AmqpError:
            raise
        except Exception as error:
            self.fail(error)
            raise

    def fail(self, error: BaseException) -> None:
        """Stop for good: nothing completes any more."""

    def want(self, commit_position: int) -> None:
        """Learn that somebody waits for a position: it is committed at the end of this turn, not when it suits."""

    def turn_ended(self) -> None:
        """Learn that a turn's calls are over: a batch that somebody waits for goes to the disk."""

    def gate_moved(self) -> None:
        """Learn that definitions are on disk: commit positions may have waited for them."""

    def settle(self, queue_id: int, run: "Run", indexes: range) -> None:
        """Record that a durable queue has done with messages of `run`."""
        raise NotImplementedError

    def give_back(self, queue_id: int, run: "Run", indexes: range, deliveries: int, due_ms: int = 0) -> None:
        """Record how often messages were delivered that came back to a durable queue which counts that.

        They wait there until `due_ms` on the clock's now_ms; 0: they do not.
        """

    def settle_seqs(self, queue_id: int, first: int, last: int) -> None:
        """Record that a durable queue has done with messages whose contents are not in memory."""

    def forget_queue(self, queue_id: int) -> None:
        """Learn that a durable queue is gone: nothing that reached it is live any more."""

    def fetch(self, queue_id: int, part: "SeqRanges", done: "Fetched") -> None:
        """Read messages back from disk; `done` is called later, without those that could not be read."""
        raise NotImplementedError
