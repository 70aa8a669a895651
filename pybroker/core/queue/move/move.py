"""Move: takes messages from a queue to a target, step by step, until none is left or one cannot be moved.

Other work continues between two steps. A move ends at the first message that cannot be moved, which stays where it is.
When a move ends, all messages that it has moved are on disk.
"""

from collections import Counter
from typing import TYPE_CHECKING, Final

from pybroker.core.events.topology import queue_moved
from pybroker.core.queue.move.source import Stop
from pybroker.core.queue.move.transfer import STEP_MESSAGES, Transfer

if TYPE_CHECKING:
    from collections.abc import Generator

    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.move.source import Pause, Source
    from pybroker.core.queue.move.target import Target
    from pybroker.run import Run
    from pybroker.store.log import Log

    # Progress: messages looked at, of how many.
    Steps = Generator[tuple[int, int], None, None]

# No step is made while this much waits for the disk.
UNCOMMITTED_OCTETS_MAX: Final = 8_388_608
# Pauses: between two steps, while messages are read back or the disk is behind, and at most while a rate is kept.
STEP_PAUSE_S: Final = 0.0
WAIT_S: Final = 0.002
RATE_PAUSE_S_MAX: Final = 0.5
# With a rate, what may go at once is what goes in this part of a second.
RATE_PARTS: Final = 20
# A move that cannot go on for so long ends.
STALL_MS: Final = 30_000


class Move:
    """One move. `messages` is how many it has moved, `stop` why it ended early, or None.

    A move is either run or surveyed, once. After a survey the two tell what a run would do under present conditions.
    """

    __slots__ = (
        "_messages_max",
        "_position",
        "_rate",
        "_source",
        "_tokens",
        "_tokens_ms",
        "messages",
        "stop",
        "target",
    )

    def __init__(
        self, source: "Source", target: "Target", *, messages_max: int | None = None, rate: float | None = None
    ) -> None:
        self._source = source
        self.target = target
        self._messages_max = messages_max
        self._rate = rate
        self._tokens = 0.0
        self._tokens_ms = source.queue.vhost.broker.clock.now_ms
        self._position = 0  # of the log, when the last step was made
        self.messages = 0
        self.stop: Stop | None = None

    def run(self, pause: "Pause", cause: "Cause") -> "Steps":
        """Move the messages, yielding the progress before each step; return when all that were moved are on disk.

        The move can be closed between steps: the remaining messages stay. `pause` lets other work continue for a number
        of seconds; an exception from it ends the move.
        """
        try:
            yield from self._run(pause)
        finally:
            queue_moved(self._source.queue, self.target.name, self.messages, cause)

    def _run(self, pause: "Pause") -> "Steps":
        source, log = self._source, self._source.queue.log
        clock = source.queue.vhost.broker.clock
        since_ms, reached = clock.now_ms, (0, 0)
        more = True
        while more:
            yield self._progress()
            source.gather(pause)
            clock.refresh()
            self.stop = self.obstacle()
            count = self._step_max(clock.now_ms)
            if self.stop is not None or count == 0:
                break
            if log.uncommitted_octets > UNCOMMITTED_OCTETS_MAX:
                log.want(log.commit_position)
                wait_s = WAIT_S
            elif count < 0:
                wait_s = self._rate_pause_s()
                since_ms = clock.now_ms
            else:
                more = self._step(log, count)
                self._position = log.commit_position or self._position
                if self.stop is not None:
                    break
                wait_s = WAIT_S if source.waits else STEP_PAUSE_S
            if reached != (source.done, self.messages):
                reached, since_ms = (source.done, self.messages), clock.now_ms
            elif clock.now_ms - since_ms > STALL_MS:
                self.stop = Stop(_stalled(log), temporary=True)
                break
            pause(wait_s)
        yield self._progress()
        self._on_disk(log, pause)

    def survey(self, pause: "Pause") -> "Generator[tuple[int, int], None, Counter[tuple[str, ...]]]":
        """Move nothing; return how many messages the move is about, by label, and yield the progress."""
        source = self._source
        found: Counter[tuple[str, ...]] = Counter()
        if source.TAKES_ALL and self.target.fits(self.total, source.queue.backlog.octets_ready):
            found[()] = self.messages = self.total
            return found
        source = self._source = source.surveyed()
        room: dict[Destination, tuple[int, int]] = {}
        left = self._messages_max
        more = True
        while more and left != 0:
            yield self._progress()
            source.gather(pause)
            more = source.more
            for run, indexes in source.parts():
                mine = indexes if left is None else indexes[:left]
                found[self.target.label(run, indexes.start)] += len(mine)
                self._rehearse(run, mine, room)
                left = None if left is None else left - len(mine)
                if left == 0:
                    break
            source.pass_over()
        return found

    def _rehearse(self, run: "Run", indexes: range, room: "dict[Destination, tuple[int, int]]") -> None:
        """Count messages that could be moved, up to the first that could not; `room` is what is left in each target."""
        while indexes and self.stop is None:
            transfer = Transfer(self._source.queue, STEP_MESSAGES, room)
            self._plan(transfer, run, indexes)
            self.messages += transfer.messages
            indexes = indexes[transfer.messages :]

    def obstacle(self) -> Stop | None:
        """Return why no step is possible now, or None."""
        queue = self._source.queue
        log = queue.log
        if queue.deleted:
            return Stop(f"{queue!r} was deleted")
        if log.failed:
            return Stop(f"the log has failed: {log.failed}")
        alarms = queue.vhost.broker.alarms
        if alarms:
            return Stop("; ".join(alarms.sentences()), temporary=True)
        return self.target.obstacle()

    def _step_max(self, now_ms: int) -> int:
        """Return how many messages the next step may move; 0: the move is complete; -1: the rate requires a pause."""
        count = STEP_MESSAGES
        if self._messages_max is not None:
            count = min(count, self._messages_max - self.messages)
        if self._rate is None or not count:
            return count
        self._tokens += (now_ms - self._tokens_ms) * self._rate / 1_000
        self._tokens = min(self._tokens, max(1.0, self._rate / RATE_PARTS))
        self._tokens_ms = now_ms
        return min(count, int(self._tokens)) or -1

    def _rate_pause_s(self) -> float:
        assert self._rate is not None
        return min(RATE_PAUSE_S_MAX, max(WAIT_S, (1.0 - self._tokens) / self._rate))

    def _step(self, log: "Log", messages_max: int) -> bool:
        """Move the messages of one step; return whether there may be more."""
        source, target = self._source, self.target
        transfer = Transfer(source.queue, messages_max)
        seen = False
        with log.together():
            for part in source.parts():
                seen = True
                if not self._plan(transfer, *part):
                    break
            removed = source.remove(transfer.planned)
            transfer.end(removed)
        for _, indexes, way in removed:
            self.messages += len(indexes)
            self._tokens -= len(indexes)
            target.count(way, len(indexes))
        source.end_step()
        return seen or source.more

    def _plan(self, transfer: Transfer, run: "Run", indexes: range) -> bool:
        """Plan as many of these messages as fit; return whether the step has room for more."""
        while indexes and not transfer.full:
            alike, way = self.target.way(run, indexes)
            if isinstance(way, Stop):
                self.stop = way
                return False
            count = transfer.plan(run, alike, way)
            if not count:
                # After a step, the consumers of the target may make room.
                if not transfer.messages:
                    full = transfer.full_target(run, indexes.start, way)
                    self.stop = Stop(f"{full!r} is full", temporary=True)
                return False
            indexes = indexes[count:]
        return not transfer.full

    @property
    def staying(self) -> int:
        """Return how many messages stay in the source because they wait for their retry."""
        return self._source.queue.messages_delayed

    @property
    def total(self) -> int:
        """Return how many messages it has to look at, at most."""
        total = self._source.total
        return total if self._messages_max is None else min(total, self._messages_max)

    def _progress(self) -> tuple[int, int]:
        return min(self._source.done, self.total), self.total

    def _on_disk(self, log: "Log", pause: "Pause") -> None:
        """Wait until all messages that were moved are on disk."""
        position = self._position
        if not position:
            return
        clock = self._source.queue.vhost.broker.clock
        log.want(position)
        since_ms = clock.now_ms
        while log.completed < position:
            if log.failed or clock.now_ms - since_ms > STALL_MS:
                why = log.failed or f"the disk did not sync within {STALL_MS // 1_000} seconds"
                self.stop = Stop(f"the last messages moved may be back after a crash: {why}", temporary=True)
                return
            pause(WAIT_S)
            clock.refresh()


def _stalled(log: "Log") -> str:
    what = "the disk did not sync" if log.uncommitted_octets > UNCOMMITTED_OCTETS_MAX else "messages were not read back"
    return f"{what} within {STALL_MS // 1_000} seconds"
