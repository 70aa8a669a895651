"""Reading: one segment, and one batch in it, while a start reads them (recovery.py)."""

from typing import TYPE_CHECKING, Final

from pybroker.store import format as fmt
from pybroker.store.segments.live_index import Index, Target

if TYPE_CHECKING:
    from array import array

    from pybroker.seq_ranges import SeqRanges
    from pybroker.store.segments.delay import Group
    from pybroker.store.segments.scan import Damaged
    from pybroker.store.segments.segment import SegmentFile

# How many records a batch has whose head is damaged.
UNKNOWN: Final = -1


class BatchRead:
    """A batch as it is read: its records count when it is known to be complete."""

    __slots__ = ("commit_position", "damaged", "delays", "guessed", "left", "offset", "publishes", "segment", "settles")

    def __init__(self, segment: "SegmentRead", commit_position: int, offset: int, records: int) -> None:
        self.segment = segment
        self.commit_position = commit_position
        self.offset = offset
        self.left = records  # that are still to come
        self.guessed = records < 0  # its head is damaged: all is in it up to the next head
        self.damaged: list[Damaged] = []
        self.publishes: list[tuple[int, int, list[tuple[int, int, int]]]] = []  # offset, set, messages
        self.settles: list[tuple[int, int, array[int]]] = []
        self.delays: list[Group] = []

    @property
    def whole(self) -> bool:
        """Tell whether all of it was found, and sound."""
        return self.left <= 0 and not self.damaged and not self.guessed

    @property
    def unreadable(self) -> bool:
        """Tell whether nothing sound is in it, so that it may be no batch at all."""
        return self.guessed and self.left + len(self.damaged) == UNKNOWN


class SegmentRead:
    """One segment file as it was found."""

    __slots__ = (
        "by_target",
        "end",
        "file",
        "first_commit_position",
        "footed",
        "index",
        "last_commit_position",
        "newest_ms",
        "number",
        "sets",
        "starts",
        "tail",
        "targets",
    )

    def __init__(self, number: int, file: "SegmentFile") -> None:
        self.number = number
        self.file = file
        self.footed = False
        self.by_target: dict[Target, SeqRanges] = {}
        # Messages by the number of their set, which may be told behind them, and the offset of the first ones.
        self.sets: dict[int, SeqRanges] = {}
        self.starts: dict[int, int] = {}
        self.targets: dict[int, Target] = {}
        self.index = Index()
        self.first_commit_position = self.last_commit_position = self.newest_ms = 0
        self.end = fmt.HEADER_OCTETS
        self.tail = 0  # where the last batch begins, or what says that it is on disk
