"""Move: messages go from a queue to a target, a step at a time, until there are no more or one cannot go.

Between two steps others go on. A move ends at the first message that cannot go, which stays where it is; what has gone
before it is on disk when the move ends.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.core.events.topology import queue_moved
from pybroker.core.queue.move.transfer import STEP_MESSAGES, Transfer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.move.source import Source
    from pybroker.core.queue.move.target import Target
    from pybroker.store.log import Log

    Pause = Callable[[float], object]
    # How far it is: messages looked at, of how many.
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


class Stop(NamedTuple):
    """Why a move ended early. A `temporary` reason may be gone when it is tried again."""

    text: str
    temporary: bool = False


class Move:
    """`messages` have gone so far. `stop` says why it ended early; None: all that there was has gone."""

    __slots__ = ("_messages_max", "_rate", "_source", "_tokens", "_tokens_ms", "messages", "stop", "target")

    def __init__(
        self, source: "Source", target: "Target", *, messages_max: int | None = None, rate: float | None = None
    ) -> None:
        self._source = source
        self.target = target
        self._messages_max = messages_max
        self._rate = rate
        self._tokens = 0.0
        self._tokens_ms = source.queue.vhost.broker.clock.now_ms
        self.messages = 0
        self.stop: Stop | None = None

    def run(self, pause: "Pause", cause: "Cause") -> "Steps":
        """Move messages, yielding how far it is before each step; return when what has gone is on disk.

        Closed, it leaves the rest where it is. `pause` lets others go on for so many seconds; what it raises ends the
        move as well.
        """
        try:
            yield from self._run(pause)
        finally:
            queue_moved(self._source.queue, self.target.name, self.messages, cause)

    def _run(self, pause: "Pause") -> "Steps":
        source, log = self._source, self._source.queue.log
        broker = source.queue.vhost.broker
        moved_ms = broker.clock.now_ms
        position = 0
        while True:
            yield self._progress()
            broker.clock.refresh()
            now_ms = broker.clock.now_ms
            self.stop = self.obstacle()
            count = self._step_max(now_ms)
            if self.stop is not None or count == 0:
                break
            wait_s = 0.0 if count > 0 else self._rate_pause_s()
            if log.uncommitted_octets > UNCOMMITTED_OCTETS_MAX:
                log.want(log.commit_position)
                wait_s = WAIT_S
            elif count > 0:
                before = source.done
                more = self._step(log, count)
                position = log.commit_position or position
                if self.stop is not None or not more:
                    break
                wait_s = WAIT_S if source.waits else STEP_PAUSE_S
                if source.done > before:
                    moved_ms = now_ms
            else:
                moved_ms = now_ms
            if now_ms - moved_ms > STALL_MS:
                self.stop = Stop(_stalled(log), temporary=True)
                break
            pause(wait_s)
        yield self._progress()
        self._on_disk(log, position, pause)

    @property
    def total(self) -> int:
        """Return how many messages there were to look at when it was made, at most."""
        total = self._source.total
        return total if self._messages_max is None else min(total, self._messages_max)

    def _progress(self) -> tuple[int, int]:
        return min(self._source.done, self.total), self.total

    def obstacle(self) -> Stop | None:
        """Return why no step can be made now."""
        queue = self._source.queue
        log = queue.log
        if queue.deleted:
            return Stop(f"{queue!r} was deleted")
        if log.failed:
            return Stop(f"the log has failed: {log.failed}")
        alarms = queue.vhost.broker.alarms
        if alarms:
            return Stop("; ".join(alarms.sentences()), temporary=True)
        text = self.target.obstacle()
        return Stop(text) if text else None

    def _step_max(self, now_ms: int) -> int:
        """Return how many messages the next step may have; 0: all have gone; -1: the rate asks for a pause."""
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
        """Move some messages; return whether there may be more."""
        source, target = self._source, self.target
        transfer = Transfer(source.queue, messages_max)
        more = True
        with log.together():
            while not transfer.full:
                part = source.first()
                if part is None:
                    more = source.waits
                    break
                indexes, way = target.way(*part)
                if isinstance(way, str):
                    self.stop = Stop(way)
                    break
                run = part[0]
                count = transfer.fit(run, indexes, way.targets)
                if not count and transfer.messages:
                    break  # consumers of the target may take what it has got so far
                if not count:
                    full = transfer.full_target(run, indexes.start, way.targets)
                    self.stop = Stop(f"{full!r} is full", temporary=True)
                    break
                for run_, indexes_ in source.remove(count):
                    transfer.add(run_, indexes_, way)
                    target.count(way, len(indexes_))
            transfer.end()
        self.messages += transfer.messages
        self._tokens -= transfer.messages
        source.end_step()
        return more

    def _on_disk(self, log: "Log", position: int, pause: "Pause") -> None:
        """Wait until what has gone is on disk."""
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
