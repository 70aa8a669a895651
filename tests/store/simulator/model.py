"""Model: in plain words what the clients were told, and what a start must therefore find.

A call is what the core does in one go. It has a position of the log; one that ended with an exception has none that
counts: it may be on disk or not, but as a whole.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.clock import FakeClock
from tests.store.simulator.stream_model import StreamModel, check_streams
from tests.store.simulator.violation import Violation

if TYPE_CHECKING:
    from tests.store.simulator.streams import Contents

NEVER = 1 << 62


def limited(queue_id: int) -> bool:
    """Tell whether the queue with this id counts deliveries."""
    return queue_id % 2 == 0


Key = tuple[str, tuple[str, ...]]


class Call:
    """`commit_position` of its batch: NEVER until that is known. `raised`: it ended with an exception."""

    __slots__ = ("commit_position", "raised")

    def __init__(self, commit_position: int = NEVER) -> None:
        self.commit_position = commit_position
        self.raised = False


BEFORE = Call(0)


class Message:
    """One message in one queue; in the log because of the call `appended`, gone because of `settled`."""

    __slots__ = ("appended", "body", "index", "returns", "run", "settled")

    def __init__(self, body: bytes, appended: Call, run: Any = None, index: int = 0) -> None:
        self.body = body
        self.appended = appended
        self.settled: Call | None = None
        self.returns: list[tuple[Call, int, int]] = []  # deliveries, and when it is due in the log's time
        self.run = run
        self.index = index

    @property
    def there(self) -> bool:
        """Tell whether its queue has it, as far as the core knows."""
        return self.settled is None and not self.appended.raised

    @property
    def deliveries(self) -> int:
        return max((times for _, times, _ in self.returns), default=0)

    @property
    def due_ms(self) -> int:
        """Return until when it waits, 0: it does not."""
        return max(self.returns, key=lambda each: each[1])[2] if self.returns else 0


class Model:
    """`queues`: id -> seq -> message, those of this life and what the last start found. `names`: of queues, by id.

    `changes`: of definitions in this life, as (commit position, key, value), behind `base`, the rows at the start.
    """

    def __init__(self) -> None:
        self.queues: dict[int, dict[int, Message]] = {}
        self.names: dict[int, str] = {}
        self.deleted: set[int] = set()
        self.base: dict[Key, Any] = {}
        self.base_commit_position = 0
        self.changes: list[tuple[int, Key, Any]] = []
        self.doubtful: set[Key] = set()
        self.streams: dict[int, StreamModel] = {}  # by id
        self.clock = FakeClock()
        self._rows: tuple[int, int, dict[Key, Any]] = (-1, -1, {})

    @contextmanager
    def call(self) -> Iterator[Call]:
        """Note what a call does, also if it raises."""
        call = Call()
        try:
            yield call
        except BaseException:
            call.raised = True
            raise

    def live(self, queue_id: int) -> list[int]:
        """Return the seqs in a queue, ascending."""
        return sorted(seq for seq, message in self.queues[queue_id].items() if message.there)

    def delivered(self) -> list[tuple[int, int, int, int, int]]:
        """Return what was delivered before: queue, seq twice, deliveries, and until when it waits."""
        return [
            (queue_id, seq, seq, messages[seq].deliveries, messages[seq].due_ms)
            for queue_id, messages in self.queues.items()
            if queue_id not in self.deleted
            for seq in self.live(queue_id)
            if messages[seq].deliveries
        ]

    # -- definitions ---------------------------------------------------------------------------------------------------

    def rows_upto(self, commit_position: int) -> dict[Key, Any]:
        """Return all rows as of a commit position of the definitions."""
        if self._rows[:2] != (commit_position, len(self.changes)):
            rows = dict(self.base)
            for at, key, value in self.changes:
                if at <= commit_position:
                    rows.pop(key, None)
                    if value is not None:
                        rows[key] = value
            self._rows = commit_position, len(self.changes), rows
        return self._rows[2]

    def check_rows(self, rows: dict[Key, Any], upto: int, completed: int) -> None:
        """Compare what a start finds with what was declared."""
        if upto < completed:
            raise Violation("definitions", f"found as of change {upto}, change {completed} had been promised")
        expected = self.rows_upto(upto)
        if rows == expected:
            return
        for key in sorted(rows.keys() | expected.keys()):
            if rows.get(key) != expected.get(key) and key not in self.doubtful:
                text = f"as of {upto}: {key} is {rows.get(key)}, not {expected.get(key)}"
                raise Violation("definitions", text)

    # -- messages ------------------------------------------------------------------------------------------------------

    def check(
        self,
        known: set[int],
        found: dict[int, list[int]],
        completed: int,
        streams: "dict[int, Contents] | None" = None,
    ) -> None:
        """Compare what lives for the queues `known` with what was promised when `completed` was the last position."""
        seen: dict[object, set[bool]] = {}
        for queue_id, messages in self.queues.items():
            if queue_id not in known:
                self._check_unknown(queue_id, completed)
                continue
            there = set(found.get(queue_id, ()))
            if phantoms := there - messages.keys():
                raise Violation("phantom", f"queue {queue_id} has {sorted(phantoms)[:5]}, which never were there")
            for seq, message in messages.items():
                self._check_one(queue_id, seq, message, seq in there, completed, seen)
        if strange := found.keys() - self.queues.keys():
            raise Violation("phantom", f"messages in queues {sorted(strange)}, which never were declared")
        check_streams(self.streams, streams or {}, completed, seen)
        self._check_order(seen, completed)

    def _check_unknown(self, queue_id: int, completed: int) -> None:
        """A message that is confirmed always has its queue, unless that was deleted."""
        if queue_id in self.deleted:
            return
        for seq, message in self.queues[queue_id].items():
            if message.there and message.appended.commit_position <= completed:
                raise Violation("lost", f"message {seq} of queue {queue_id}, which is not there")

    def _check_one(
        self, queue_id: int, seq: int, message: Message, there: bool, completed: int, seen: dict[object, set[bool]]
    ) -> None:
        appended, settled = message.appended, message.settled
        sure = appended.commit_position <= completed and not appended.raised
        if settled is None:
            if sure:
                if not there:
                    text = (
                        f"message {seq} of queue {queue_id}, batch {appended.commit_position} of {completed} completed"
                    )
                    raise Violation("lost", text)
            else:
                seen.setdefault(appended if appended.raised else appended.commit_position, set()).add(there)
        elif settled.commit_position <= completed and not settled.raised:
            if there:
                by = settled.commit_position
                text = f"message {seq} of queue {queue_id}, settled by batch {by} of {completed} completed"
                raise Violation("returned", text)
        elif sure:
            seen.setdefault(settled if settled.raised else settled.commit_position, set()).add(not there)

    @staticmethod
    def _check_order(seen: dict[object, set[bool]], completed: int) -> None:
        """Nothing of a batch is on disk without all of it, and none without those before it."""
        absent = NEVER
        for commit_position in sorted(each for each in seen if isinstance(each, int)):
            if len(seen[commit_position]) > 1:
                raise Violation("half", f"batch {commit_position} is there in part, {completed} are completed")
            if True not in seen[commit_position]:
                absent = min(absent, commit_position)
            elif commit_position > absent:
                raise Violation("order", f"batch {commit_position} is there without batch {absent}")
        for call, both in seen.items():
            if isinstance(call, Call) and len(both) > 1:
                raise Violation("torn call", "a call that ended with an exception is there in part")

    def check_returns(
        self, known: set[int], told: dict[tuple[int, int], tuple[int, int]], completed: int, now_ms: int
    ) -> None:
        """Compare how often messages had been delivered, and until when they wait, with what was promised."""
        for queue_id in known & self.queues.keys():
            for seq, message in self.queues[queue_id].items():
                if not message.returns or message.settled is not None:
                    continue
                low = max(
                    [n for call, n, _ in message.returns if call.commit_position <= completed and not call.raised],
                    default=0,
                )
                times, due_ms = told.get((queue_id, seq), (0, 0))
                if not low <= times <= message.deliveries:
                    text = f"message {seq} of queue {queue_id}: {times}, not {low}"
                    raise Violation("deliveries", f"{text} to {message.deliveries}")
                (expected,) = {due for _, n, due in message.returns if n == times} or {0}
                if due_ms != expected and (due_ms or expected > now_ms):
                    text = f"message {seq} of queue {queue_id}, delivered {times} times, waits until {due_ms}"
                    raise Violation("due", f"{text}, not {expected}; it is {now_ms}")

    def begin(
        self,
        rows: dict[Key, Any],
        commit_position: int,
        ids: dict[int, str],
        found: dict[int, list[int]],
        told: dict[tuple[int, int], tuple[int, int]],
        streams: "dict[int, Contents]",
    ) -> None:
        """Go on with what a start has found."""
        self.streams = {stream_id: self.streams[stream_id] for stream_id in streams}
        for stream_id, contents in streams.items():
            self.streams[stream_id].begin(contents, BEFORE)
        before = self.queues
        self.base, self.base_commit_position, self.changes, self.doubtful = dict(rows), commit_position, [], set()
        self._rows = (-1, -1, {})
        self.names, self.deleted = ids, set()
        self.queues = {queue_id: {} for queue_id in sorted(ids)}
        for queue_id, seqs in found.items():
            for seq in seqs:
                made = self.queues[queue_id][seq] = Message(before[queue_id][seq].body, BEFORE)
                if limited(queue_id) and told.get((queue_id, seq)):
                    made.returns.append((BEFORE, *told[queue_id, seq]))
