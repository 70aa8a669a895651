"""Tracking: the last publishing id of each named publisher of a stream, and the offsets that named consumers stored.

Each value is a small durable message in the node's log, of an id that belongs to the stream's; the value before is
settled when the next one is appended. So a value is on disk with what was published in the same call, or neither is,
and a start finds what lives. Does not know what publishers and consumers do with it.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import ref

from pybroker.core.queue.destination import Companion
from pybroker.core.routing.publish import names_of
from pybroker.run import Run, RunAttributes
from pybroker.seq_ranges import SeqRanges, merge
from pybroker.store.streams.straight import MARK_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.queue.recover import Part, Returned
    from pybroker.core.stream.stream import Stream
    from pybroker.run import Names
    from pybroker.store.journal.batch_builder import BatchBuilder

# More publishers than this: the longest unused goes. More consumers: one below the oldest message, or the same.
PUBLISHERS_MAX: Final = 4_096
CONSUMERS_MAX: Final = 65_536
_PUBLISHER: Final = "publisher"
_OFFSET: Final = "offset"
_MARK: Final = "mark"
_PERSISTENT: Final = RunAttributes(persistent=True)
_OF_MARK: Final = RunAttributes(persistent=True, priority=MARK_PRIORITY)
# A content of eight octets, with delivery mode 2 (AMQP §4.2.6).
_FRONT: Final = bytes.fromhex("02 0000 0000000f 003c 0000 0000000000000008 1000 02 ce 03 0000 00000008")
_END: Final = b"\xce"
_NUMBER: Final = slice(-9, -1)

# A value, and the seq of its message.
Value = tuple[int, int]


class StoredOffset(NamedTuple):
    """The offset of the last message with which a consumer of a stream is done, as it stored it under its name."""

    stream: "Stream"
    name: str
    offset: int

    @property
    def lag(self) -> int:
        """Return how many messages there are behind it, whether the consumer is connected or not."""
        return max(0, self.stream.next_offset - self.offset - 1)


class Tracking(Companion):
    """Both kinds of values are by name, the one that changed last behind the others."""

    __slots__ = ("_asked", "_floor", "_held", "_position", "_stream_ref", "_unclosed", "_values", "_waiting")

    def __init__(self, stream: "Stream") -> None:
        super().__init__(stream.id)
        self._stream_ref = ref(stream)  # no circle: nobody would collect that of a deleted one
        # Most streams have none of these: an empty kind has no table.
        self._values: dict[str, dict[str, Value]] = {}
        self._held: dict[str, int] | None = None  # how often each publisher is connected
        # Contents of values that are not in a closed batch yet: they may still change, as of this commit position.
        self._unclosed: dict[tuple[str, str], list[bytes]] | None = None
        self._position = 0
        self._asked: SeqRanges | None = None  # of what a start found and is being read
        self._waiting: tuple[Callable[[], None], ...] = ()
        self._floor = -1  # no consumer's offset was below this one

    @property
    def _stream(self) -> "Stream":
        stream = self._stream_ref()
        assert stream is not None  # it has us, so that whoever calls us has it
        return stream

    # -- publishers ----------------------------------------------------------------------------------------------------

    def publisher_id(self, name: str) -> int | None:
        """Return the last publishing id of a publisher; None if there is none."""
        return self._number(_PUBLISHER, name)

    def note_publisher(self, name: str, publishing_id: int) -> None:
        """Note the id of a publisher's last message, in the call in which that is published: all on disk, or none."""
        try:
            publishers = self._of(_PUBLISHER)
            if name not in publishers and len(publishers) >= PUBLISHERS_MAX:
                held = self._held or ()
                unused = next((each for each in publishers if each not in held), None)
                if unused is not None:
                    self._drop(_PUBLISHER, unused)
            self._put(_PUBLISHER, name, publishing_id)
        except Exception as error:
            # The messages must not be committed without it: they would be taken for new ones if they came again.
            self._stream.log.fail(error)
            raise

    @property
    def publisher_ids(self) -> list[tuple[str, int]]:
        """Return the last publishing id of each publisher, by name."""
        return sorted((name, number) for name, (number, _) in self._of(_PUBLISHER).items())

    def hold(self, name: str) -> None:
        """Learn that a publisher is connected: what is known of it stays until `release`."""
        if self._held is None:
            self._held = {}
        self._held[name] = self._held.get(name, 0) + 1

    def release(self, name: str) -> None:
        """Learn that it is no more."""
        assert self._held is not None
        left = self._held[name] - 1
        if left:
            self._held[name] = left
            return
        del self._held[name]
        publishers = self._of(_PUBLISHER)
        if name in publishers:
            publishers[name] = publishers.pop(name)

    # -- consumers -----------------------------------------------------------------------------------------------------

    def offset(self, name: str) -> int | None:
        """Return the offset that a consumer stored last; None if there is none."""
        return self._number(_OFFSET, name)

    @property
    def offsets(self) -> list[StoredOffset]:
        """Return the offset that each consumer stored, by name."""
        found = self._of(_OFFSET)
        return [StoredOffset(self._stream, name, found[name][0]) for name in sorted(found)]

    def store_offset(self, name: str, offset: int) -> None:
        """Store a consumer's offset; it is on disk with the log's next batch."""
        offsets = self._of(_OFFSET)
        if name not in offsets and len(offsets) >= CONSUMERS_MAX:
            self._drop(_OFFSET, self._oldest_consumer())
        self._put(_OFFSET, name, offset)

    def _oldest_consumer(self) -> str:
        """Return the name to forget first: one whose messages are gone, else the longest unused."""
        offsets, floor = self._of(_OFFSET), self._stream.first_offset
        if floor != self._floor:
            below = next((name for name, (offset, _) in offsets.items() if offset < floor), None)
            if below is not None:
                return below
            self._floor = floor  # looking at all of them again would find none
        return next(iter(offsets))

    # -- straight writes -----------------------------------------------------------------------------------------------

    def mark(self, builder: "BatchBuilder", next_offset: int, seq: int) -> None:
        """Say in a batch that what is below an offset is in the files, by a message of this seq."""
        content = _FRONT + next_offset.to_bytes(8) + _END
        now_ms = self._stream.vhost.broker.clock.now_ms
        run = Run(_names(_MARK, ""), _OF_MARK, seq, [content], len(content), 8, 8, now_ms)
        builder.append(run, range(1), (self.id,))
        marks = self._values.setdefault(_MARK, {})
        if "" in marks:
            _, before = marks[""]
            builder.settle_seqs(self.id, before, before)
            if self._asked is not None:
                # `_read_back` settles what is asked for and not kept: not this one again.
                self._asked = self._asked.without([(before, before)])
        marks[""] = next_offset, seq

    # -- values in the log ---------------------------------------------------------------------------------------------

    def _of(self, kind: str) -> dict[str, Value]:
        """Return the values of a kind by name; what is put there while it has none is lost."""
        return self._values.get(kind) or {}

    def _number(self, kind: str, name: str) -> int | None:
        value = self._of(kind).get(name)
        return None if value is None else value[0]

    def _put(self, kind: str, name: str, number: int) -> None:
        log, values = self._stream.log, self._values.setdefault(kind, {})
        content = _FRONT + number.to_bytes(8) + _END
        position = log.commit_position
        if position != self._position:
            self._unclosed = None
        unclosed = None if self._unclosed is None else self._unclosed.get((kind, name))
        before = values.pop(name, None)
        if unclosed is not None and before is not None:
            unclosed[0] = content
            values[name] = number, before[1]
            return
        contents = [content]
        now_ms = self._stream.vhost.broker.clock.now_ms
        run = Run(_names(kind, name), _PERSISTENT, log.take(1), contents, len(content), 8, 8, now_ms)
        self._position = log.append(run, range(1), (self.id,))
        if self._position:
            if self._unclosed is None:
                self._unclosed = {}
            self._unclosed[kind, name] = contents
        if before is not None:
            log.settle_seqs(self.id, before[1], before[1])
        values[name] = number, run.first_seq

    def _drop(self, kind: str, name: str) -> None:
        _, seq = self._values[kind].pop(name)
        if self._unclosed is not None:
            self._unclosed.pop((kind, name), None)
        self._stream.log.settle_seqs(self.id, seq, seq)

    def forget(self) -> None:
        """Let the log forget all of it: the stream is deleted, and nobody waits for what it knew."""
        self._stream.log.forget_queue(self.id)
        self._asked = None
        waiting, self._waiting = self._waiting, ()
        for call in waiting:
            call()

    # -- after a start -------------------------------------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Tell whether values of the time before a start are known."""
        return self._asked is None

    def when_ready(self, call: "Callable[[], None]") -> None:
        """Call when it is ready: at once, or when they are read back."""
        if self.is_ready:
            call()
        else:
            self._waiting += (call,)

    def restore(self, parts: "list[Part]", others: int, returned: "Returned | None" = None) -> None:  # noqa: ARG002
        """Have values read back that a start found in the log."""
        self._asked = merge([seq_ranges for _, _, seq_ranges in parts])
        for priority, _, seq_ranges in parts:
            if priority == MARK_PRIORITY:
                # Its seq is what counts: it stays, also if it cannot be read.
                self._values[_MARK] = {"": (0, seq_ranges.last_seq)}
        self._stream.log.fetch(self.id, self._asked, self._read_back)

    def _read_back(self, found: "list[tuple[Run, range]]") -> None:
        asked, self._asked = self._asked, None
        waiting, self._waiting = self._waiting, ()
        stream = self._stream_ref()
        if stream is None or stream.deleted or asked is None:
            return
        read: dict[str, dict[str, Value]] = {}
        for run, indexes in found:
            values, name = read.setdefault(run.names.exchange, {}), run.names.routing_key
            for index, content in zip(indexes, run.contents_at(indexes), strict=True):
                seq = run.first_seq + index
                # Damage may have cost a value's settling: then the newest one counts.
                if name not in values or values[name][1] < seq:
                    values.pop(name, None)
                    values[name] = int.from_bytes(content[_NUMBER]), seq
        # Values that were noted meanwhile are newer, and changed last.
        for kind, newer in self._values.items():
            values = read.setdefault(kind, {})
            for name in newer:
                values.pop(name, None)
            values.update(newer)
        self._values = read
        kept = {seq for values in self._values.values() for _, seq in values.values()}
        # Damage may have cost a value, or its settling: the log has told of it.
        for first, count, _ in asked.without((seq, seq) for seq in sorted(kept)).ranges():
            stream.log.settle_seqs(self.id, first, first + count - 1)
        for call in waiting:
            call()

    def __repr__(self) -> str:
        return f"the tracking of {self._stream_ref()!r}"


@lru_cache(1_024)
def _names(kind: str, name: str) -> "Names":
    """Return the names of a value's message: one object for all of a publisher."""
    return names_of(kind, name)
