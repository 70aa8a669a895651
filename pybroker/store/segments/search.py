"""Search: picks wanted messages out of a segment's records, and makes runs of them.

A queue that was filled message by message has a record for each; read back, neighbours of one route, kind and time of
arrival become one run again, as if they had been published at once. Knows no files.
"""

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

from pybroker.run import RUN_MESSAGES_MAX, RUN_OCTETS_MAX, Run
from pybroker.store import format as fmt, publish_record
from pybroker.store.segments.scan import Damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pybroker.seq_ranges import SeqRanges
    from pybroker.store.segments.scan import Found


class _Joined:
    """Records that become one run, and which of its seqs are wanted: first, stop, first, stop ..."""

    __slots__ = ("_alone", "_kind", "_octets", "_payloads", "_split", "_wanted", "first_seq", "next_seq")

    def __init__(self, payload: bytes, first: int, count: int) -> None:
        self._kind = publish_record.kind_of(payload)
        self._alone = publish_record.has_entries(payload)
        self._payloads = [payload]
        self._split = publish_record.names_end(payload)
        self._octets = len(payload) - self._split
        self._wanted: list[int] = []
        self.first_seq = first
        self.next_seq = first + count

    def takes(self, payload: bytes, first: int, count: int) -> bool:
        """Append the next record, if it fits."""
        if (
            first != self.next_seq
            or self._alone
            or first + count - self.first_seq > RUN_MESSAGES_MAX
            or self._octets + len(payload) - self._split > RUN_OCTETS_MAX
            or publish_record.kind_of(payload) != self._kind
        ):
            return False
        self._payloads.append(payload)
        self._octets += len(payload) - self._split
        self.next_seq = first + count
        return True

    def want(self, first: int, stop: int) -> None:
        """Note that seqs `first .. stop - 1` are wanted."""
        wanted = self._wanted
        if wanted and wanted[-1] == first:
            wanted[-1] = stop
        else:
            wanted += (first, stop)

    def found(self) -> "Iterable[tuple[Run, range]]":
        """Give the run with each part of it that is wanted."""
        run = publish_record.decode_publish(self._payloads[0]) if len(self._payloads) == 1 else joined(self._payloads)
        base = self.first_seq
        wanted = iter(self._wanted)
        for first in wanted:
            yield run, range(first - base, next(wanted) - base)


class Search:
    """The `wanted` messages that were found. `missing` counts the others.

    `on_damage` is called once for each place that could not be read.
    """

    __slots__ = ("_at", "_counts", "_firsts", "_joined", "_on_damage", "_seen", "_told", "missing")

    def __init__(self, wanted: "SeqRanges", on_damage: "Callable[[Damaged], None]") -> None:
        self._firsts = wanted.firsts
        self._counts = wanted.counts
        self._on_damage = on_damage
        self._at = 0
        self._told: set[int] = set()
        self._seen: set[int] = set()
        self._joined: list[_Joined] = []
        self.missing = wanted.count

    def go_through(self, records: "Iterable[Found]") -> None:
        """Take what is wanted, until nothing is missing any more."""
        for record in records:
            if isinstance(record, Damaged):
                if record.offset not in self._told:
                    self._told.add(record.offset)
                    self._on_damage(record)
            elif record.type == fmt.PUBLISH and record.offset not in self._seen:
                if self._take(record.payload):
                    self._seen.add(record.offset)
                if not self.missing:
                    return

    def found(self) -> "list[tuple[Run, range]]":
        """Return runs, and which of their messages are wanted, ascending."""
        self._joined.sort(key=lambda each: each.first_seq)
        return [each for one in self._joined for each in one.found()]

    def _take(self, payload: bytes) -> bool:
        """Take what is wanted of a record; tell whether anything was."""
        first, count = publish_record.range_of(payload)
        stop = first + count
        firsts, counts = self._firsts, self._counts
        at = self._at
        if not firsts[at] <= first < firsts[at] + counts[at]:
            at = max(0, bisect_right(firsts, first) - 1)
        mine: _Joined | None = None
        while at < len(firsts) and firsts[at] < stop:
            start, end = max(firsts[at], first), min(firsts[at] + counts[at], stop)
            if start < end:
                if mine is None:
                    mine = self._place(payload, first, count)
                mine.want(start, end)
                self.missing -= end - start
                self._at = at
            at += 1
        return mine is not None

    def _place(self, payload: bytes, first: int, count: int) -> _Joined:
        if self._joined and self._joined[-1].takes(payload, first, count):
            return self._joined[-1]
        self._joined.append(_Joined(payload, first, count))
        return self._joined[-1]


def joined(payloads: list[bytes]) -> Run:
    """Return the messages of PUBLISH records that are alike, each following the one before, as one packed run."""
    first = publish_record.decode_publish(payloads[0])
    split = publish_record.names_end(payloads[0])
    ends = array("I", (0,))
    blobs: list[bytes] = []
    at = body_octets = 0
    sizes: set[int] = set()
    for payload in payloads:
        count, size, body_size = publish_record.SIZES.unpack_from(payload)
        blob = payload[split if size else split + 4 * count :]
        blobs.append(blob)
        if size:
            ends.extend(range(at + size, at + len(blob) + 1, size))
        else:
            ends.extend([at := at + length for length in fmt.column("I", payload, split, count)])
        at = ends[-1]
        sizes.add(body_size)
        if body_size == publish_record.DIFFER:
            body_octets += sum([size for _, _, size in publish_record.messages_of(payload)[1]])
        else:
            body_octets += count * body_size
    body_size = sizes.pop() if len(sizes) == 1 else publish_record.DIFFER
    return Run.of_block(
        first.names,
        first.attributes,
        first.first_seq,
        b"".join(blobs),
        ends,
        body_octets,
        -1 if body_size == publish_record.DIFFER else body_size,
        first.arrived_ms,
        first.channel,
        first.frame_octets_max,
    )
