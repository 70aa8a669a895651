"""Reader: where one consumer of a stream is, and what it is to get next, from memory or from the stream's files."""

from collections import deque
from typing import TYPE_CHECKING, Final

from pybroker.entries_run import EntriesRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.clock import Clock
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.stream.filter import Filters
    from pybroker.core.stream.stream import Stream
    from pybroker.run import Run

# Read from disk at a time for one reader.
READ_OCTETS: Final = 1_048_576
# Less if there are so many readers that all of them would have more than this.
READ_OCTETS_MIN: Final = 16_384
NODE_READ_OCTETS: Final = 33_554_432
# In messages that are delivered together: what a run costs, and a message that is looked into.
RUN_COST: Final = 4
FILTER_COST: Final = 8
CONVERT_COST: Final = 3
# How long after a read that failed it is tried again.
RETRY_MS: Final = 1_000


def on_clock(runs: "list[Run]", clock: "Clock") -> "list[Run]":
    """Return runs that were read from a stream's files, with the time of their arrival as other runs have it."""
    wall_ms = clock.timestamp_ms - clock.now_ms
    for run in runs:
        run.arrived_ms -= wall_ms
    return runs


class Reader:
    """Begins at `next_offset`; None until it is known, since the files are asked where a time is.

    `ahead` has runs that were read from disk and not delivered yet. `skipped` counts messages that were gone, or could
    not be read, before it came to them.
    """

    __slots__ = ("ahead", "consumer", "filters", "is_reading", "next_offset", "retry_ms", "skipped", "stream")

    def __init__(
        self, stream: "Stream", consumer: "Consumer", next_offset: int | None, filters: "Filters | None"
    ) -> None:
        self.stream = stream
        self.consumer = consumer
        self.next_offset = next_offset
        self.filters = filters
        self.ahead: deque[Run] = deque()
        self.is_reading = False
        self.retry_ms = 0
        self.skipped = 0

    @property
    def lag(self) -> int:
        """Return how many messages of the stream it has not come to yet."""
        return 0 if self.next_offset is None else max(0, self.stream.next_offset - self.next_offset)

    def find(self, timestamp_ms: int) -> None:
        """Begin at the first chunk that is not older than this wall time."""
        self.is_reading = True
        self.stream.find(timestamp_ms, lambda found: self._found(timestamp_ms, found))

    def _found(self, timestamp_ms: int, found: "int | BaseException") -> None:
        self.is_reading = False
        if self.consumer.cancelled or self.stream.deleted:
            return
        if isinstance(found, BaseException):
            self.retry_ms = self.stream.vhost.broker.clock.now_ms + RETRY_MS
            self.stream.reading_failed(found)
            self.stream.look_again(lambda: self.find(timestamp_ms))
            return
        self.next_offset = found
        self.stream.wake()

    def serve(self, credit: int, cost_max: int, now_ms: int) -> int:
        """Deliver messages of one run, as far as credit and cost allow; return what that cost; 0: none is there."""
        run, start = self._run_at()
        if run is None:
            return 0
        filters, each = self.filters, 1
        if filters is not None:
            if isinstance(run, EntriesRun) and not filters.may_match(run.bloom):
                self._go_on(run.first_seq + run.count)
                return RUN_COST
            filters, each = filters.of_chunk(run), FILTER_COST
        if isinstance(run, EntriesRun):
            each += CONVERT_COST
            run, start = self._converted(run, run.first_seq + start)
            if run is None:
                return RUN_COST
        stop = min(run.count, start + min(credit, max(1, cost_max // each)))
        indexes = range(start, stop)
        self._go_on(run.first_seq + stop)
        spans = [indexes] if filters is None else filters.spans(run, indexes)
        for span in spans:
            self.stream.count_delivered(len(span))
            self.consumer.dispatch(run, span, 0, now_ms)
        return max(RUN_COST, each * len(indexes))

    def _taken(self, found: "list[Run]") -> "list[Run]":
        """Return runs that were read from the files as they are delivered."""
        return on_clock(found, self.stream.vhost.broker.clock)

    def _converted(self, run: EntriesRun, offset: int) -> "tuple[Run | None, int]":
        """Return contents with the next message and its index there; None if all that follow there cannot be opened."""
        part = self.stream.streams.conversion.contents(self.stream, run, offset)
        for made in part.runs:
            if made.first_seq + made.count > offset:
                if made.first_seq > offset:
                    self._skip_to(made.first_seq)
                    offset = made.first_seq
                return made, offset - made.first_seq
        self.skipped += part.stop - offset
        self._go_on(part.stop)
        return None, 0

    def _go_on(self, offset: int) -> None:
        """Go on with an offset behind what is done with."""
        self.next_offset = offset
        ahead = self.ahead
        if ahead and ahead[0].first_seq + ahead[0].count <= offset:
            ahead.popleft()

    def _run_at(self) -> "tuple[Run | None, int]":
        """Return the run with the next message and its index there; None: it is not there, or not there yet."""
        stream, offset = self.stream, self.next_offset
        if offset is None:
            return None, 0
        if offset < stream.first_offset:
            self._skip_to(stream.first_offset)
            offset = stream.first_offset
        while self.ahead:
            run = self.ahead[0]
            if run.first_seq + run.count > offset:
                if run.first_seq > offset:
                    self._skip_to(run.first_seq)
                    offset = run.first_seq
                return run, offset - run.first_seq
            self.ahead.popleft()
        if self.is_reading or not self.lag:
            return None, 0
        pieces = stream.pieces
        if not pieces or offset < pieces[0].offset:
            if offset < stream.files.next_offset:
                self._read(offset)
                return None, 0
            # Lost with a damaged segment of the log.
            offset = pieces[0].offset if pieces else stream.next_offset
            self._skip_to(offset)
            if offset >= stream.next_offset:
                return None, 0
        piece = pieces.find(offset)
        if piece is None or piece.offset > offset:  # the same
            self._skip_to(stream.next_offset if piece is None else piece.offset)
            return self._run_at()
        if piece.run is None or offset >= stream.next_offset:
            return None, 0  # it is brought back first
        return piece.run, offset - piece.offset

    def _skip_to(self, offset: int) -> None:
        assert self.next_offset is not None
        self.skipped += offset - self.next_offset
        self.next_offset = offset

    def _read(self, offset: int) -> None:
        stream = self.stream
        if stream.vhost.broker.clock.now_ms >= self.retry_ms:
            self.is_reading = True
            octets = max(READ_OCTETS_MIN, min(READ_OCTETS, NODE_READ_OCTETS // stream.streams.readers))
            self._read_files(offset, octets, lambda found: self._read_back(offset, found))

    def _read_files(self, offset: int, octets_max: int, done: "Callable[[list[Run] | BaseException], None]") -> None:
        wanted = None if self.filters is None else self.filters.may_match
        self.stream.files.read(offset, octets_max, done, wanted)

    def _read_back(self, offset: int, found: "list[Run] | BaseException") -> None:
        self.is_reading = False
        stream = self.stream
        if self.consumer.cancelled or stream.deleted:
            return
        if isinstance(found, BaseException):
            self.retry_ms = stream.vhost.broker.clock.now_ms + RETRY_MS
            stream.reading_failed(found)
            stream.look_again(stream.wake)
            return
        if found:
            self.ahead.extend(self._taken(found))
        elif self.next_offset == offset:
            # Nothing there can be read: it is damaged up to what is in memory, or written next.
            pieces = stream.pieces
            self._skip_to(pieces[0].offset if pieces and pieces[0].offset > offset else stream.files.next_offset)
        stream.wake()
