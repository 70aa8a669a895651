"""Shelf: the contents of scheduled messages that are in memory: not in the log yet, not for the log, or due soon.

What the log has leaves the memory, oldest first, when there is much of it; it is read back shortly before it is due.
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.stretch import Stretch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.schedule.agenda import Item
    from pybroker.core.schedule.schedule import Schedule
    from pybroker.run import Run

# What stays in memory although the log has it.
KEPT_MESSAGES: Final = 2_048
KEPT_OCTETS: Final = 2_097_152
# Read back at a time.
FETCH_MESSAGES: Final = 2_048
FETCH_OCTETS: Final = 2_097_152


class Shelf:
    """`runs` has the run of each message here, by seq; `octets` are those of the bodies.

    `_logged` are messages, first and last seq, that the log has, or will have when `safe_seq` has passed them. While
    it is `fetching` some are on their way back.
    """

    __slots__ = ("_logged", "_schedule", "fetching", "octets", "runs")

    def __init__(self, schedule: "Schedule") -> None:
        self._schedule = schedule
        self._logged: deque[tuple[int, int]] = deque()
        self.runs: dict[int, Run] = {}
        self.octets = 0
        self.fetching = False

    def put(self, run: "Run", index: int, size: int, *, logged: bool) -> None:
        """Take a message; the log is to have it as well, or never will."""
        seq = run.first_seq + index
        self.runs[seq] = run
        self.octets += size
        if logged:
            self._logged.append((seq, size))

    def take(self, seq: int, size: int) -> "Run | None":
        """Remove a message, if it is here; return its run."""
        run = self.runs.pop(seq, None)
        if run is not None:
            self.octets -= size
        return run

    @property
    def crowded(self) -> bool:
        """Tell whether some could go, if the log had them."""
        much = len(self.runs) > KEPT_MESSAGES or self.octets > KEPT_OCTETS
        return much and bool(self._logged)

    def let_go(self) -> None:
        """Let go of what the log has, if there is much."""
        safe_seq = self._schedule.vhost.broker.log.safe_seq
        while self.crowded and self._logged[0][0] < safe_seq:
            self.take(*self._logged.popleft())

    def fetch(self, items: "Iterable[Item]") -> None:
        """Have the first of these read back that are not here, unless some are being read."""
        if self.fetching:
            return
        wanted: list[Item] = []
        octets = 0
        for item in items:
            if item.seq in self.runs:
                continue
            octets += item.size
            if len(wanted) >= FETCH_MESSAGES or (wanted and octets > FETCH_OCTETS):
                break
            wanted.append(item)
        if wanted:
            self.fetching = True
            schedule = self._schedule
            schedule.vhost.broker.log.fetch(schedule.id, stretch_of(wanted), partial(self._came, wanted))

    def clear(self) -> None:
        """Forget how it stands; the contents are forgotten a few at a time."""
        self._logged.clear()
        self.octets = 0

    def _came(self, wanted: "list[Item]", found: "list[tuple[Run, range]]") -> None:
        self.fetching = False
        schedule = self._schedule
        if schedule.deleted:
            return
        here = by_seq(found)
        for item in wanted:
            # Some may have been cancelled meanwhile.
            if not schedule.has(item):
                continue
            run = here.get(item.seq)
            if run is None:
                schedule.lost(item)
            else:
                self.runs[item.seq] = run
                self.octets += item.size
        schedule.wake()


def stretch_of(items: "Iterable[Item]") -> Stretch:
    """Return these messages as a log knows them."""
    stretch = Stretch()
    for seq, size in sorted((item.seq, item.size) for item in items):
        stretch.add(seq, 1, size)
    return stretch


def by_seq(found: "list[tuple[Run, range]]") -> "dict[int, Run]":
    """Return the run of each message that was read; one that has little of it in this is not kept whole."""
    here: dict[int, Run] = {}
    for run, indexes in found:
        if run.pins(indexes):
            run, indexes = run.part(indexes), range(len(indexes))
        for index in indexes:
            here[run.first_seq + index] = run
    return here
