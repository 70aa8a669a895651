"""Paging out: contents that go to a page, from the tail of a queue towards its head window, or were in the log anyway.

A part that leaves stays in memory until its page is written, and can be taken back until then. It is looked at once in
each round from tail to head, so that what was paged out long ago costs nothing.
"""

from collections import deque
from typing import TYPE_CHECKING, Final, cast

from pybroker.core.queue.paging.eviction import SEGMENT_ELEMENTS, append, widen
from pybroker.core.queue.paging.segments import EvictedSegment, Segments, fills_window
from pybroker.run import Entry
from pybroker.seq_ranges import SeqRanges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.store.page_log import Page, PageLog

# Looked at in one go, some milliseconds.
SHARE_PARTS: Final = 1_024
# Approximate size of an entry and its run beside the contents, and the cost of moving them.
PART_OCTETS: Final = 1_024
# A head that was read back not longer ago is still being read.
READING_MS: Final = 1_000


class PageOut:
    """One go, of one queue: up to `octets`, and SHARE_PARTS. Without `pages` only what the log has goes.

    `octets_left` and `parts_left` are the rest of both. `moved` counts messages that were in memory: if it
    stays 0, there is nothing more to give.
    """

    __slots__ = (
        "_durable",
        "_next_seq",
        "_pages",
        "_parts",
        "_queue",
        "_safe_seq",
        "moved",
        "octets_left",
        "parts_left",
    )

    def __init__(self, queue: "Queue", octets: int, pages: "PageLog | None") -> None:
        log = queue.log
        self._queue = queue
        self._durable = queue.durable
        self._next_seq = log.next_seq
        self._safe_seq = log.safe_seq
        self._pages = pages
        self._parts: list[tuple[Level, Segments, EvictedSegment]] = []
        self.octets_left = octets
        self.parts_left = SHARE_PARTS
        self.moved = 0

    @property
    def full(self) -> bool:
        """Tell whether no more can go."""
        return self.octets_left <= 0 or self.parts_left <= 0

    def gather(self) -> None:
        """Find what goes, and have it written when the pages are committed; of the lowest priority first."""
        for level in reversed(self._queue.backlog.levels):
            if not self.full and level.count:
                self._gather(level)

    def written(self, error: str) -> None:
        """Let go of what is on disk, unless somebody took it meanwhile; or keep it."""
        queue = self._queue
        for level, segments, part in self._parts:
            page = part.page
            assert page is not None
            if not error:
                queue.backlog.count_written(part.seq_ranges.count)
            if error or part.found is None or level.segments is not segments:
                page.release(part.seq_ranges.count)
                part.page = None
                continue
            part.found = None
            part.asked = False
            queue.backlog.count_evicted(part.seq_ranges.count, part.seq_ranges.octets)
        if error:
            for segments in {segments for level, segments, _ in self._parts if level.segments is segments}:
                _keep(segments)

    def _gather(self, level: "Level") -> None:
        segments = self._head_window(level)
        if segments is None:
            return
        entries: list[Entry | EvictedSegment] = []
        fresh = segments.fresh
        while fresh and not self.full and self._is_ripe(fresh[0]):
            self._look_at(entries, fresh.popleft())
        segments.youngest.extend(self._page_out(level, segments, entries))
        entries = []
        parts = segments.parts
        while parts and not self.full:
            part = parts[-1]
            if isinstance(part, EvictedSegment) and part.asked and part.page is None:
                break  # it is on its way back: what comes before will be needed soon
            self._look_at(entries, parts.pop())
        segments.paged.extendleft(reversed(self._page_out(level, segments, reversed(entries))))
        segments.start_over()

    def _head_window(self, level: "Level") -> Segments | None:
        """Have the head window in `ready`, and more only where messages are being read back; return what is behind."""
        segments = level.segments or level.part_window()
        if segments is None:
            return None
        for _ in range(2):
            if not segments.parts:
                self._adopt(segments)
            if fills_window(level.ready):
                break
            level.advance()
            if level.segments is None:
                return None
        now_ms = self._queue.vhost.broker.clock.now_ms
        stay = fills_window(level.ready)
        if stay and (segments.asked_ms is None or now_ms - segments.asked_ms >= READING_MS):
            ready = level.ready
            while len(ready) > stay and self.parts_left:
                segments.parts.appendleft(ready.pop())
                self.parts_left -= 1
            segments.mark_low(ready)
        return segments

    def _adopt(self, segments: Segments) -> None:
        """Let what is fresh be looked at from its tail on, all but what may change."""
        fresh = segments.fresh
        unripe: deque[Entry] = deque()
        while fresh and not self._is_ripe(fresh[-1]):
            unripe.appendleft(fresh.pop())
        segments.parts = cast("deque[Entry | EvictedSegment]", fresh)
        segments.fresh = unripe

    def _look_at(self, entries: list[Entry | EvictedSegment], part: Entry | EvictedSegment) -> None:
        self.parts_left -= 1
        self.octets_left -= PART_OCTETS
        if isinstance(part, Entry) and self._goes_to_page(part):
            self.octets_left -= part.run.octets * len(part.indexes) // part.run.count
        entries.append(part)

    def _is_ripe(self, entry: Entry) -> bool:
        """Tell whether an entry's run does not grow any more, and the log has it if it is to."""
        run = entry.run
        if self._durable and run.attributes.persistent:
            return entry.last_seq < self._safe_seq
        return run.first_seq + run.count < self._next_seq

    def _goes_to_page(self, entry: Entry) -> bool:
        if self._pages is None or (self._durable and entry.run.attributes.persistent):
            return False
        return self._is_ripe(entry)

    def _page_out(
        self, level: "Level", segments: Segments, parts: "Iterable[Entry | EvictedSegment]"
    ) -> list[Entry | EvictedSegment]:
        """Return parts, which ascend, with the entries gone that can."""
        made: list[Entry | EvictedSegment] = []
        for part in parts:
            if not isinstance(part, Entry):
                made.append(part)
            elif self._goes_to_page(part):
                assert self._pages is not None
                self._write(level, segments, made, part, self._pages.page_out(part.run, part.indexes))
            elif self._durable and part.run.attributes.persistent and self._is_ripe(part):
                append(self._queue, made, part)
                self.moved += 1
            else:
                made.append(part)
        return made

    def _write(
        self, level: "Level", segments: Segments, made: list[Entry | EvictedSegment], entry: Entry, page: "Page"
    ) -> None:
        """Append an entry to the part that goes to this page."""
        last = made[-1] if made else None
        if (
            not isinstance(last, EvictedSegment)
            or last.found is None
            or last.page is not page
            or last.deliveries != entry.deliveries
            or len(last.seq_ranges) >= SEGMENT_ELEMENTS
        ):
            last = EvictedSegment(SeqRanges(), entry.deliveries, page)
            last.asked = True
            last.found = []
            made.append(last)
            self._parts.append((level, segments, last))
        assert last.found is not None
        last.found.append(entry)
        widen(last.seq_ranges, entry)
        self.moved += 1


def _keep(segments: Segments) -> None:
    """Put entries back whose page could not be written: they are looked at again."""
    kept: list[Entry | EvictedSegment] = []
    for part in segments.all_parts():
        if isinstance(part, EvictedSegment) and part.found is not None:
            kept += part.found
        else:
            kept.append(part)
    segments.parts.clear()
    segments.paged.clear()
    segments.parts.extend(kept)
