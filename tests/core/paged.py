"""A broker whose memory is always short, and whose pages lie on a disk in memory: for tests of paging."""

from pybroker.core.queue.paging import page_out
from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.core.resources import pressure
from pybroker.core.routing import publish
from pybroker.store.page_log import PageLog
from tests.core.disk_log import DiskBench, shrink as shrink_memory
from tests.inline_worker import InlineWorker
from tests.store.faulty_disk import FaultyDisk

SMALL = {
    publish: {"RUN_MESSAGES_MAX": 3},
    page_out: {"SHARE_PARTS": 3, "PART_OCTETS": 1, "READING_MS": 0},
    pressure: {
        "WINDOW_MESSAGES": 2,
        "WINDOW_OCTETS": 30,
        "TICK_OCTETS": 2_000,
        "SHARE_OCTETS": 100,
        "SEARCH_MS": 0,
        "RETRY_MS": 0,
        "PUBLISHER_OCTETS_MIN": 1 << 40,  # publishers are not slowed unless a test is about that
    },
}
# More memory than any machine has.
SHORT = 1 << 62


def shrink(monkeypatch) -> None:
    """Make all windows and shares tiny."""
    shrink_memory(monkeypatch)
    for module, constants in SMALL.items():
        for name, value in constants.items():
            assert hasattr(module, name)
            monkeypatch.setattr(module, name, value)


class Pages:
    """The page log of a broker. `hold` keeps what is written from being known until something has to be read."""

    def __init__(self, broker) -> None:
        self.disk = FaultyDisk()
        self.worker = InlineWorker()
        self.unreadable: list[str] = []
        self.log = broker.pages = PageLog(self.disk, self.worker, self.unreadable.append)
        self.broker = broker
        self.hold = False
        self.written = 0
        self.read = 0
        broker.settings.watermarks.set_disk_relative(0.0)

    def step(self) -> bool:
        """Do the oldest job; False if there is none, or it is to wait."""
        names = [job.func.__name__ for job, _ in self.worker._jobs]
        if not names or (self.hold and set(names) == {"_write"}):
            return False
        self.written += names[0] == "_write"
        self.read += names[0] == "read_back"
        self.worker.step()
        return True

    def short(self) -> None:
        """Let memory be short for a tick."""
        self.broker.paging.tick(SHORT)


class PagedBench(DiskBench):
    """A queue with pages; memory is short when `page` says so."""

    def __init__(self, *, durable=True, **arguments) -> None:
        super().__init__(**arguments)
        self.queue.durable = self.queue.backlog.durable = durable
        self.pages = Pages(self.broker)

    def page(self) -> None:
        """Be short of memory for a tick, and let everything come to its end."""
        self.pages.short()
        self.rest()

    def rest(self) -> None:
        self.turn()
        while self.pages.step() or self.log.answer() or self.log.complete(self.broker):
            self.turn()


def paged_seqs(bench) -> list[int]:
    """Return the seqs in pages, in all levels."""
    parts = [
        part
        for level in bench.queue.backlog.levels
        if level.segments is not None
        for part in level.segments.all_parts()
    ]
    evicted = [
        part.seq_ranges
        for part in parts
        if isinstance(part, EvictedSegment) and part.page is not None and not part.found
    ]
    return [first + i for seq_ranges in evicted for first, count, _ in seq_ranges.ranges() for i in range(count)]
