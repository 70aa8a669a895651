"""Contents of scheduled messages that are in memory: not in the log yet, not meant for the log, or due soon.

Contents that the log has leave memory, oldest first, when there are many of them. They are read back shortly before
they are due: as many of the next ones as a window holds, because messages that are due together may lie anywhere in the
log. Gathering and unpacking a window takes many turns, a share in each.
"""

from collections import deque
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pybroker.core.delayed.listing import in_order, seq_ranges_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.delayed.index import Waiting
    from pybroker.core.delayed.schedule import Schedule
    from pybroker.run import Names, Run, RunAttributes

    # The attributes that a message shares with its run, and its own content.
    Cached: TypeAlias = tuple["Run | Kind", bytes]

# Limits of what stays in memory although the log has it.
KEPT_MESSAGES: Final = 2_048
KEPT_OCTETS: Final = 2_097_152
# And small ones that are due so soon: to read them back would cost more.
SOON_MS: Final = 4_000
SMALL_OCTETS: Final = 4_096
# A window, and what its messages are due within.
FETCH_MESSAGES: Final = 16_384
FETCH_OCTETS: Final = 16_777_216
HORIZON_MS: Final = 60_000
# Read so long before the first of them is due.
AHEAD_MS: Final = 2_000
# Looked at in one turn.
SHARE_MESSAGES: Final = 1_024
# Python's overhead for a message that was read back.
AROUND_OCTETS: Final = 250


class Kind(NamedTuple):
    """Attributes of a run of which a single message was read back."""

    names: "Names"
    attributes: "RunAttributes"
    arrived_ms: int
    channel: int
    frame_octets_max: int
    origin: int


kind_of: Final = attrgetter(*Kind._fields)


class DelayedCache:
    """`runs` has the run of each message that has not left since it came, `fetched` what was read back, by seq.

    `_logged` are messages that the log has, or will have when `safe_seq` has passed them: seq, size, when they are due.
    At `read_at_ms` it is to be looked at what is due next; `fetching` tells that some are on their way back.
    """

    __slots__ = (
        "_found",
        "_logged",
        "_schedule",
        "_sizes",
        "_source",
        "_wanted",
        "_wanted_octets",
        "fetched",
        "fetched_octets",
        "fetching",
        "octets",
        "read_at_ms",
        "runs",
    )

    def __init__(self, schedule: "Schedule") -> None:
        self._schedule = schedule
        self._logged: deque[tuple[int, int, int]] = deque()
        self.runs: dict[int, Run] = {}
        self.octets = 0
        self.fetched: dict[int, tuple[Kind, bytes]] = {}
        self.fetched_octets = 0
        self.fetching = False
        self.read_at_ms = 0
        self._source: Iterator[Waiting] | None = None
        self._wanted: dict[int, Waiting] = {}
        self._sizes: dict[int, int] = {}
        self._wanted_octets = 0
        self._found: Iterator[tuple[Run, range]] | None = None

    def __len__(self) -> int:
        return len(self.runs) + len(self.fetched)

    def __contains__(self, seq: int) -> bool:
        return seq in self.runs or seq in self.fetched

    def put(self, run: "Run", index: int, size: int, due_ms: int, *, logged: bool) -> None:
        """Take a message that is due then, on the clock's now_ms; the log is to have it as well, or never will."""
        seq = run.first_seq + index
        self.runs[seq] = run
        self.octets += size
        if logged and (size > SMALL_OCTETS or due_ms - run.arrived_ms > SOON_MS):
            self._logged.append((seq, size, due_ms))

    def get(self, seq: int) -> "Cached | None":
        """Return a message, if it is here."""
        run = self.runs.get(seq)
        return self.fetched.get(seq) if run is None else (run, run.content(seq - run.first_seq))

    def pop(self, seq: int, size: int) -> "Cached | None":
        """Remove a message; return it, if it was here."""
        run = self.runs.pop(seq, None)
        if run is not None:
            self.octets -= size
            return run, run.content(seq - run.first_seq)
        found = self.fetched.pop(seq, None)
        if found is not None:
            self.fetched_octets -= size
        return found

    def forget(self, seq: int, size: int) -> "Cached | None":
        """Do the same for a message that is cancelled; it is not wanted any more, should it be on its way."""
        if self._wanted.pop(seq, None) is not None and not self.fetching:
            del self._sizes[seq]
        return self.pop(seq, size)

    def clear(self) -> None:
        """Forget how it stands; the contents are forgotten a few at a time."""
        self._logged.clear()
        self._wanted.clear()
        self._source = self._found = None
        self.octets = self.fetched_octets = 0

    # -- out of memory ------------------------------------------------------------------------------------------

    @property
    def crowded(self) -> bool:
        """Tell whether some could go, if the log had them."""
        much = len(self.runs) > KEPT_MESSAGES or self.octets > KEPT_OCTETS
        return much and bool(self._logged)

    def let_go(self) -> None:
        """Let go of what the log has, if there is much."""
        # Messages that leave in time would be remembered for ever if there are never many at once.
        if len(self._logged) > 2 * (len(self.runs) + KEPT_MESSAGES):
            self._logged = deque([each for each in self._logged if each[0] in self.runs])
        safe_seq = self._schedule.log.safe_seq
        while self.crowded and self._logged[0][0] < safe_seq:
            seq, size, due_ms = self._logged.popleft()
            if self.runs.pop(seq, None) is not None:
                self.octets -= size
                self.read_at_ms = min(self.read_at_ms, due_ms - AHEAD_MS)

    # -- and back -----------------------------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Tell whether so much was read back that no more is needed now."""
        return 2 * len(self.fetched) >= FETCH_MESSAGES or 2 * self.fetched_octets >= FETCH_OCTETS

    def read_ahead(self, *, urgent: bool) -> bool:
        """Do a turn's share of reading back what is due next; tell whether the next share may follow at once.

        It is `urgent` if something is due that is not here.
        """
        if self._found is not None:
            return self._unpack(self._found)
        if self.fetching:
            return False
        schedule = self._schedule
        now_ms = schedule.vhost.broker.clock.now_ms
        if self._source is None:
            if not urgent and (self.read_at_ms > now_ms or self.full):
                return False
            self._source = in_order(schedule)
            self.read_at_ms = now_ms + HORIZON_MS
        looked_at = 0
        for waiting in islice(self._source, SHARE_MESSAGES):
            looked_at += 1
            if waiting.seq in self.runs or waiting.seq in self.fetched:
                continue
            # Found a turn ago, it may have left since.
            if not waiting.delayed_index.has(waiting.due_ms, waiting.seq):
                continue
            due_ms = schedule.on_clock(waiting)
            if due_ms > now_ms + (HORIZON_MS if self._wanted else AHEAD_MS):
                return self._fetch_window(due_ms - AHEAD_MS)
            self._wanted[waiting.seq] = waiting
            self._sizes[waiting.seq] = waiting.size
            self._wanted_octets += waiting.size
            if len(self._wanted) >= FETCH_MESSAGES or self._wanted_octets >= FETCH_OCTETS:
                return self._fetch_window(now_ms)
        return looked_at == SHARE_MESSAGES or self._fetch_window(now_ms + HORIZON_MS)

    def _fetch_window(self, read_at_ms: int) -> bool:
        """Have the window read, if there is anything in it, and look for the next one then."""
        self._source = None
        # Something may have been let go meanwhile that is due sooner.
        self.read_at_ms = min(self.read_at_ms, read_at_ms)
        if self._wanted:
            self.fetching = True
            schedule = self._schedule
            schedule.log.fetch(schedule.id, seq_ranges_of(self._sizes), self._came)
        return False

    def _came(self, found: "list[tuple[Run, range]]") -> None:
        if not self._schedule.deleted:
            self._found = iter(found)
            self._schedule.wake()

    def _unpack(self, found: "Iterator[tuple[Run, range]]") -> bool:
        wanted, fetched = self._wanted, self.fetched
        left = SHARE_MESSAGES
        for run, indexes in found:
            kind = Kind(*kind_of(run))
            for index, content in zip(indexes, run.contents_at(indexes), strict=True):
                waiting = wanted.pop(run.first_seq + index, None)
                # Some may have been cancelled meanwhile.
                if waiting is not None:
                    fetched[waiting.seq] = kind, content
                    self.fetched_octets += waiting.size
            left -= len(indexes)
            if left <= 0:
                return True
        self._found = None
        self.fetching = False
        self._wanted_octets = 0
        self._sizes = {}
        for waiting in wanted.values():
            self._schedule.lost(waiting)
        wanted.clear()
        return False
