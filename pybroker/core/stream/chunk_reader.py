"""ChunkReader: the reader of a consumer that takes chunks as they are stored, all of each, in the order of offsets.

A chunk in which its offset is comes whole: such a consumer passes over what it does not want.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.stream.filter import has_values
from pybroker.core.stream.reader import CONVERT_COST, FILTER_COST, RUN_COST, Reader
from pybroker.entries_run import EntriesRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run

# So many octets cost as much as a message that is delivered by itself: a turn gives one reader about 1 MiB.
COST_OCTETS: Final = 256
# With more readers nothing is read ahead.
AHEAD_READERS_MAX: Final = 16
# Read for it at a time: one that takes nothing any more has so much ahead, beside what waits to be sent to it. All
# together have so much, or that each.
AHEAD_OCTETS_MIN: Final = 262_144
NODE_AHEAD_OCTETS: Final = 4_194_304


class ChunkReader(Reader):
    """`credit` counts chunks, and so does the consumer's."""

    __slots__ = ("_low",)

    _low: int  # with so many chunks ahead more are read

    def serve(self, credit: int, cost_max: int, now_ms: int) -> int:  # noqa: ARG002 - a chunk, whatever it costs
        """Deliver the next chunk; return what that cost; 0: none is there."""
        run, index = self._run_at()
        if run is not None and not self.stream.streams.shared_reads.can_send(self.stream, run):
            if self.is_reading:
                return 0  # what is read now follows what is ahead: both are read again
            self.ahead.clear()
            run, index = self._run_at()
        if run is None:
            if self.next_offset is not None:
                self.consumer.came_to(self.next_offset)
            return 0
        cost = RUN_COST
        if self.filters is not None:
            if has_values(run):
                cost += FILTER_COST * run.count
            if not self.filters.may_match_run(run):
                self._read_ahead()
                self._go_on(run.first_seq + run.count)
                self.consumer.passed_over(run, now_ms)
                return cost
        if not isinstance(run, EntriesRun):
            cost += CONVERT_COST * run.count
            run = self._chunk(run, run.first_seq + index)
        self._read_ahead()
        self._go_on(run.first_seq + run.count)
        self.stream.count_delivered(run.count)
        self.consumer.deliver_chunk(run, now_ms)
        return cost + run.octets // COST_OCTETS

    def _read_ahead(self) -> None:
        """Have the chunks behind those that are there read, while these are sent; not if there are many readers."""
        if not 0 < len(self.ahead) <= self._low or self.is_reading:
            return
        stream, run = self.stream, self.ahead[-1]
        offset, pieces = run.first_seq + run.count, stream.pieces
        in_memory = pieces and pieces[0].offset <= offset
        if offset < stream.files.next_offset and not in_memory and stream.streams.readers <= AHEAD_READERS_MAX:
            self._read(offset)

    def _read_files(self, offset: int, octets_max: int, done: "Callable[[list[Run] | BaseException], None]") -> None:
        streams = self.stream.streams
        octets_max = min(octets_max, max(AHEAD_OCTETS_MIN, NODE_AHEAD_OCTETS // streams.readers))
        stored = self.consumer.takes_stored
        streams.shared_reads.read(self.stream, offset, octets_max, done, self.filters, stored=stored)

    def _chunk(self, run: "Run", offset: int) -> EntriesRun:
        """Return the chunk of entries that has a message of these contents."""
        stream = self.stream
        piece = stream.pieces.find(offset)
        # The time of what was read from the files is that of its chunk.
        timestamp_ms = piece.timestamp_ms if piece is not None and piece.run is run else run.arrived_ms
        chunks = stream.streams.conversion.chunks(stream, run, timestamp_ms)
        return next(chunk for chunk in chunks if chunk.first_seq + chunk.count > offset)

    def _taken(self, found: "list[Run]") -> "list[Run]":
        """Return chunks as they were read: the time in them is that of the wall."""
        self._low = max(1, len(found) // 2)
        return found
