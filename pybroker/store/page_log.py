"""Page log: transient contents that leave memory under pressure, until they are read back.

Contents that leave together are a *page*: a segment file of PUBLISH records alone, ascending by seq. It is written
once, never synced, and unlinked when nothing in it is wanted any more; a start removes all pages. All of this is done
in the files thread. Nothing is guaranteed: contents that cannot be written stay in memory.

Knows runs and files. The core decides which messages go, and what is left of them meanwhile.
"""

import errno
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from pybroker.seq_ranges import SeqRanges
from pybroker.store import format as fmt, publish_record
from pybroker.store.disk import DiskError
from pybroker.store.journal.reader import Reader, first_seq
from pybroker.store.segments.live_index import Index
from pybroker.store.segments.log_id import draw
from pybroker.store.worker import reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run
    from pybroker.store.disk import Disk
    from pybroker.store.log import Fetched
    from pybroker.store.worker import Worker

# The folder in the data folder.
FOLDER: Final = "pages"
# Written in pieces of this size.
WRITE_OCTETS: Final = 1_048_576


class Page:
    """One file. `live` counts the messages in it that are away, for each queue; without any the file goes."""

    __slots__ = ("_log", "index", "live", "lost", "number", "octets")

    def __init__(self, log: "PageLog", number: int) -> None:
        self._log = log
        self.number = number
        self.index = Index()
        self.live = 0
        self.octets = 0
        self.lost = False  # it could not be written

    def retain(self, count: int) -> None:
        """Keep the file until as many are released: somebody reads it."""
        self.live += count

    def release(self, count: int) -> None:
        """Learn that so many messages are in memory again, or wanted by nobody."""
        self.live -= count
        if not self.live and not self.lost:
            self._log.unlink(self)

    def __repr__(self) -> str:
        return f"Page({self.number}, live {self.live})"


class PageLog:
    """One page is gathered, by `page_out`, and written, by `commit`, at a time; `writing` says that one is on its way.

    `pages` are files, and `octets` theirs. `reserved_octets` of the disk stay free. `on_unreadable` and the reader
    tell the operator.
    """

    __slots__ = (
        "_disk",
        "_files",
        "_gathered",
        "_last_number",
        "_log_id",
        "_where",
        "octets",
        "on_unreadable",
        "pages",
        "reader",
        "reserved_octets",
        "writing",
    )

    def __init__(self, disk: "Disk", files: "Worker", on_unreadable: "Callable[[str], None]") -> None:
        self._disk = disk
        self._files = files
        self._log_id = draw()  # no page is read by another life of the node
        self.on_unreadable = on_unreadable
        self.reader = Reader(files, disk, self._log_id)
        self.reader.on_unreadable = on_unreadable
        self.reserved_octets = 0
        self.pages = self.octets = 0
        self.writing: Page | None = None
        self._last_number = 0
        self._gathered: list[tuple[Run, range]] = []
        # Runs that are on disk and, because another queue has them too, still in memory: none is written twice.
        self._where: WeakKeyDictionary[Run, tuple[Page, range]] = WeakKeyDictionary()

    def page_out(self, run: "Run", indexes: range) -> Page:
        """Have consecutive messages of a run that grows no more leave the memory; return the page that will have them.

        A seq goes into a page once at most: the contents of a page are of one queue. The contents must be kept until
        `commit` says that they are on disk.
        """
        known = self._where.get(run)
        if known is not None:
            page, there = known
            if page is not self.writing and page.live and there.start <= indexes.start and indexes.stop <= there.stop:
                page.live += len(indexes)
                return page
        page = self.writing or self._begin()
        page.live += len(indexes)
        self._gathered.append((run, indexes))
        return page

    def _begin(self) -> Page:
        self._last_number += 1
        self.writing = Page(self, self._last_number)
        return self.writing

    def commit(self, done: "Callable[[str], None]") -> None:
        """Write what was gathered. `done` is called once, soon or at once, with what went wrong, empty: it is on disk.

        If it is not, the page is no more, and need not be released.
        """
        page, gathered = self.writing, self._gathered
        if page is None:
            done("")
            return
        gathered.sort(key=first_seq)

        def written(result: Any) -> None:
            self.writing = None
            if isinstance(result, BaseException):
                page.lost = True
                done(reason(result))
                return
            page.index, page.octets = result
            self.pages += 1
            self.octets += page.octets
            for run, indexes in gathered:
                self._where[run] = (page, indexes)
            gathered.clear()
            done("")

        job = partial(_write, self._disk, self._log_id, page.number, gathered, self.reserved_octets)
        self._gathered = []
        try:
            self._files.submit(job, written)
        except MemoryError as error:
            written(error)

    def fetch(self, parts: "list[tuple[Page, SeqRanges]]", done: "Fetched") -> None:
        """Read messages back, from pages that are not released before `done` was called with what could be read."""
        by_page: dict[Page, SeqRanges] = {}
        for page, seq_ranges in parts:
            by_page.setdefault(page, SeqRanges()).extend(seq_ranges)
        wanted = [(page.number, page.index, seq_ranges) for page, seq_ranges in by_page.items()]
        self.reader.fetch(lambda *, again: wanted, 0, done)  # noqa: ARG005 - a page does not change

    def unlink(self, page: Page) -> None:
        """Release the file of a page; reads submitted earlier are done first."""
        self._files.submit(partial(self._disk.unlink, fmt.segment_name(page.number)), self._unlinked)
        self.pages -= 1
        self.octets -= page.octets

    def _unlinked(self, error: "BaseException | None") -> None:
        if error is not None:
            self.on_unreadable(f"cannot remove a page file: {reason(error)}")


def empty(disk: "Disk") -> None:
    """Remove what the last life of the node has left. Raises DiskError."""
    for name in disk.names():
        disk.unlink(name)


def _write(
    disk: "Disk", log_id: int, number: int, gathered: "list[tuple[Run, range]]", reserved_octets: int
) -> tuple[Index, int]:
    """Write a page; return where its records are, and how large it is. Nothing is left of it if that fails."""
    name = fmt.segment_name(number)
    seed = fmt.seed(log_id, number)
    index = Index()
    parts = [fmt.segment_header(number, log_id, 0)]
    written, waiting = 0, len(parts[0])
    file = disk.create(name, lasting=False)
    try:
        for run, indexes in gathered:
            index.add(run.first_seq + indexes.start, written + waiting)
            parts.append(publish_record.publish(0, run, indexes, run.arrived_ms, seed))
            waiting += len(parts[-1])
            if waiting >= WRITE_OCTETS:
                written, waiting, parts = _put(disk, file, written, parts, reserved_octets), 0, []
        written = _put(disk, file, written, parts, reserved_octets)
    except BaseException:
        disk.close(file)
        disk.unlink(name)
        raise
    disk.close(file)
    return index, written


def _put(disk: "Disk", file: int, at: int, parts: list[bytes], reserved_octets: int) -> int:
    """Write records at the end of a file; return its new end."""
    octets = b"".join(parts)
    if disk.free_octets() < reserved_octets + len(octets):
        raise DiskError("page out to", FOLDER, errno.ENOSPC)
    disk.write_at(file, at, octets)
    return at + len(octets)
