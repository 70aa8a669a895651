"""SegmentFile: the reading side of one segment, piece by piece, and the way to seal it.

The only module that knows where a message lies on disk. Damage is reported, never raised; a disk that cannot read
raises DiskError.
"""

from bisect import bisect_left, bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.format import segment_number
from pybroker.store.sectors import Sectors
from pybroker.store.segments.footer import Footer
from pybroker.store.segments.scan import Damaged, Scanner
from pybroker.store.segments.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.run import Run
    from pybroker.seq_ranges import SeqRanges
    from pybroker.store.disk import Disk
    from pybroker.store.segments.live_index import Index
    from pybroker.store.segments.scan import Found

__all__ = ["SegmentFile", "seal_segment", "segment_number"]

# A start reads in pieces of this size.
SCAN_OCTETS: Final = 4_194_304
# A queue that wants messages back reads a little first, it may want no more, then twice as much each time, up to this.
FIRST_OCTETS: Final = 65_536
READ_OCTETS: Final = 1_048_576
# A smaller gap between two wanted places is read too: cheaper than asking the disk twice.
GAP_OCTETS: Final = 65_536


class SegmentFile:
    """The segment `number` of the log with this id.

    `complaint` says what is wrong with its header, or is empty; if the header is bad, `header` is None. The records can
    be read even so: their crc, which begins with `seed`, tells which log and number they belong to. Raises VersionError
    for a segment of a newer program.
    """

    def __init__(self, disk: "Disk", number: int, log_id: int) -> None:
        self._disk = disk
        self.number = number
        self.name = fmt.segment_name(number)
        self.complaint = ""
        self.header: fmt.SegmentHeader | None = None
        self.seed = fmt.seed(log_id, number)
        self._file = disk.open(self.name)
        self._sectors = Sectors(disk, self._file)
        try:
            self.size = disk.size(self._file)
            self._read_header(log_id)
        except (DiskError, fmt.FormatError):
            self.close()
            raise

    def _read_header(self, log_id: int) -> None:
        try:
            header = fmt.SegmentHeader.decode(self.read(0, fmt.HEADER_OCTETS))
        except fmt.VersionError:
            raise
        except fmt.FormatError as error:
            self.complaint = f"segment {self.name}: {error}"
            return
        if (header.number, header.log_id) == (self.number, log_id):
            self.header = header
        else:
            whose = f"segment {header.number:x}" if header.log_id == log_id else "another log"
            self.complaint = f"segment {self.name}: its header is that of {whose}"

    def close(self) -> None:
        """Give the file back."""
        self._disk.close(self._file)

    def read(self, offset: int, octets: int) -> bytes:
        """Return octets as they are on disk; ones in place of what the disk cannot read any more (sectors.py)."""
        return self._sectors.read(offset, octets)

    def read_footer(self) -> Footer | None:
        """Return what the segment says of itself; None if it is not sealed, or its footer is not sound."""
        end = self.size - fmt.TRAILER_OCTETS
        offset = fmt.decode_trailer(self.read(end, fmt.TRAILER_OCTETS)) if end >= fmt.HEADER_OCTETS else None
        if offset is None or not fmt.HEADER_OCTETS <= offset < end:
            return None
        scanner = Scanner(self.seed, offset)
        for found in scanner.feed(self.read(offset, end - offset), final=True):
            if isinstance(found, Damaged) or found.type != fmt.FOOTER or scanner.end != end:
                return None
            try:
                return Footer.decode(found.payload)
            except fmt.FormatError:
                return None
        return None

    def scan_all(self) -> "Iterator[Found]":
        """Give all records, and what is damaged between them.

        Behind the size that the header tells there is never anything but a footer. Octets there that are no record are
        of one that a full disk, or a crash, kept from being written: nothing is lost with them.
        """
        end = self.size - fmt.TRAILER_OCTETS
        if end > fmt.HEADER_OCTETS and fmt.decode_trailer(self.read(end, fmt.TRAILER_OCTETS)) is not None:
            return self._scan(fmt.HEADER_OCTETS, end, SCAN_OCTETS)
        found = self._scan(fmt.HEADER_OCTETS, self.size, SCAN_OCTETS)
        size = self.header.size if self.header is not None else 0
        return (each for each in found if not (size and each.offset >= size and isinstance(each, Damaged)))

    def read_publishes(
        self, wanted: "SeqRanges", index: "Index", on_damage: "Callable[[Damaged], None]"
    ) -> "list[tuple[Run, range]]":
        """Read messages back: runs, and which of their messages are wanted, ascending. Missing ones are left out.

        `on_damage` is called for each place that could not be read. The file may be growing meanwhile.
        """
        search = Search(wanted, on_damage)
        for start, stop in self._extents(wanted, index):
            search.go_through(self._scan(start, stop, FIRST_OCTETS))
        if search.missing:
            # Damaged; or it is not where the index says, which costs a look at everything before it is given up.
            search.go_through(self._scan(fmt.HEADER_OCTETS, self.size, READ_OCTETS))
        return search.found()

    @property
    def short(self) -> bool:
        """Tell whether the file lost its end: one without a footer is as long as it was made."""
        return self.header is not None and self.size < self.header.size

    def write_footer_again(self) -> None:
        """Do that with a footer that was read. Raises DiskError."""
        offset = fmt.decode_trailer(self.read(self.size - fmt.TRAILER_OCTETS, fmt.TRAILER_OCTETS))
        if offset is not None:
            self.write_again(offset, self.size)

    def write_again(self, start: int, stop: int) -> None:
        """Have octets written that are read here, and on disk when this returns. Raises DiskError."""
        file = self._disk.open(self.name, write=True)
        try:
            for at in range(start, min(stop, self.size), READ_OCTETS):
                self._disk.write_at(file, at, self.read(at, min(READ_OCTETS, min(stop, self.size) - at)))
            self._disk.sync(file)
        except DiskError as error:
            if not error.full:
                raise
        finally:
            self._disk.close(file)

    def cut(self, start: int, stop: int) -> None:
        """Let there be nothing from `start` to `stop`, the last that is written; on disk when this returns.

        The file keeps its length, unless the disk is too full even for zeros: one that is shorter has lost something.
        """
        file = self._disk.open(self.name, write=True)
        try:
            try:
                for at in range(start, min(stop, self.size), READ_OCTETS):
                    self._disk.write_at(file, at, bytes(min(READ_OCTETS, min(stop, self.size) - at)))
            except DiskError as error:
                if not error.full:
                    raise
                self._disk.truncate(file, start)
                self.size = start
            self._disk.sync(file)
        finally:
            self._disk.close(file)

    def _scan(self, start: int, stop: int, piece: int) -> "Iterator[Found]":
        """Give what is between two offsets at which records begin; pieces grow up to READ_OCTETS."""
        scanner = Scanner(self.seed, start)
        while start < stop and not scanner.done:
            # A long record is read at once: each further piece would copy all before it.
            octets = self.read(start, min(max(piece, scanner.missing), stop - start))
            if not octets:  # cut off meanwhile
                break
            start += len(octets)
            piece = max(piece, min(2 * piece, READ_OCTETS))
            yield from scanner.feed(octets, final=start == stop)

    def _extents(self, wanted: "SeqRanges", index: "Index") -> list[tuple[int, int]]:
        """Return where the wanted messages are, as offsets from and to; neighbours are joined."""
        firsts, counts = wanted.firsts, wanted.counts
        seqs, offsets = index.seqs, index.offsets
        if not seqs:
            return [(fmt.HEADER_OCTETS, self.size)]
        extents: list[tuple[int, int]] = []
        at = 0
        while at < len(firsts):
            first = firsts[at]
            start = offsets[max(0, bisect_right(seqs, first) - 1)]
            above = bisect_right(seqs, first + counts[at] - 1)
            stop = offsets[above] if above < len(offsets) else self.size
            if extents and start <= extents[-1][1] + GAP_OCTETS:
                extents[-1] = extents[-1][0], max(extents[-1][1], stop)
            else:
                extents.append((start, stop))
            if above == len(seqs):
                break
            # The others that begin before the same point are there as well, but the last one may reach beyond it.
            following = bisect_left(firsts, seqs[above], at + 1)
            reaches = following - 1 > at and firsts[following - 1] + counts[following - 1] > seqs[above]
            at = following - 1 if reaches else following
        return extents


def seal_segment(disk: "Disk", number: int, seed: int, used: int, footer: Footer) -> None:
    """Let a segment end after `used` octets with its footer: on disk when this returns.

    The file is cut only when the footer is on disk: then one that is shorter than it was made has lost something.
    A crash may leave the footer torn: damage behind the last batch, of a segment without a footer, has no data in it.
    Raises DiskError; the segment ends after `used` octets all the same, and its header says so: on a full disk that
    makes room.
    """
    octets = fmt.record(fmt.FOOTER, footer.encode(), seed) + fmt.trailer(used)
    file = disk.open(fmt.segment_name(number), write=True)
    try:
        try:
            disk.write_at(file, used, octets)
        except DiskError:
            with suppress(DiskError, fmt.FormatError):
                disk.write_at(file, 0, fmt.of_size(disk.read_at(file, 0, fmt.HEADER_OCTETS), used))
                disk.sync(file)
            disk.truncate(file, used)
            raise
        disk.sync(file)
        disk.truncate(file, used + len(octets))
        disk.sync(file)
    finally:
        disk.close(file)
