"""Pieces: what of a stream is in memory, or in the node's log alone. It knows neither readers nor files.

They ascend by offset. The first ones are in the stream's files already and stay for readers near the end, the others
have not moved yet.
"""

from bisect import bisect_left, bisect_right
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from pybroker.core.stream.pieces.piece import PIECE_MESSAGES_MAX, PIECE_OCTETS, PIECE_OCTETS_MAX, Piece
from pybroker.entries_run import ENTRIES_MAX, ENTRIES_OCTETS_MAX, EntriesRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.run import Run

_OFFSET = attrgetter("offset")
_STOP = attrgetter("stop")


class Pieces:
    """`pending` counts the octets of those that have not moved; `count` is called with what that, and the others, grow.

    The stream's files have all below the offset `moved_to`.
    """

    __slots__ = ("_count", "_growing", "_pieces", "_sealed_to", "pending")

    def __init__(self, count: "Callable[[int, int], None]") -> None:
        self._pieces: list[Piece] = []
        self._count = count
        self.pending = 0
        self._growing: tuple[Run | None, int] = (None, 0)  # the run of the last piece, and how far that has it
        self._sealed_to = 0

    def __len__(self) -> int:
        return len(self._pieces)

    def __iter__(self) -> "Iterator[Piece]":
        return iter(self._pieces)

    def __reversed__(self) -> "Iterator[Piece]":
        return reversed(self._pieces)

    def __getitem__(self, at: int) -> Piece:
        return self._pieces[at]

    # -- what others ask -----------------------------------------------------------------------------------------------

    @property
    def resident(self) -> list[Piece]:
        """Return those with their contents in memory."""
        return [piece for piece in self._pieces if piece.run is not None]

    @property
    def first_logged(self) -> Piece | None:
        """Return the first one whose contents are in the log alone; None if there is none."""
        return next((piece for piece in self._pieces if piece.run is None), None)

    def octets_of(self, position: int) -> int:
        """Return how many octets of entries are committed with a position, which is the last one that was given."""
        octets = 0
        for piece in reversed(self._pieces):
            if piece.position != position:
                break
            if isinstance(piece.run, EntriesRun):
                octets += piece.run.octets
        return octets

    def find(self, offset: int) -> Piece | None:
        """Return the one with this message, or the first one behind it; None if there is none."""
        at = bisect_right(self._pieces, offset, key=_STOP)
        return self._pieces[at] if at < len(self._pieces) else None

    def runs(self, offset: int, stop: int, octets_max: int) -> "list[Run]":
        """Return runs from the one with a message on, up to `stop` and about so many octets."""
        found: list[Run] = []
        for piece in islice(self._pieces, bisect_right(self._pieces, offset, key=_STOP), None):
            if octets_max <= 0 or piece.run is None or piece.offset >= stop:
                break
            found.append(piece.run)
            octets_max -= piece.run.octets
        return found

    # -- in ------------------------------------------------------------------------------------------------------------

    def seal(self) -> None:
        """Change no piece that is there any more: somebody has seen it, or begins behind it, or it is being moved."""
        if self._pieces:
            self._seal(self._pieces[-1])

    def _seal(self, piece: Piece) -> None:
        self._sealed_to = max(self._sealed_to, piece.stop)

    def grow(self, run: "Run", indexes: range, position: int) -> bool:
        """Extend the last one, if these messages follow there and nobody can have seen it; tell whether that was so."""
        last, stop = self._growing
        self._growing = run, indexes.stop
        pieces = self._pieces
        piece = pieces[-1] if pieces else None
        if (
            last is not run
            or stop != indexes.start
            or piece is None
            or piece.offset < self._sealed_to
            or not position
            or piece.position != position
            or piece.run is None
            or piece.run.contents is None
            or piece.stop - piece.offset + len(indexes) > PIECE_MESSAGES_MAX
            or piece.octets >= PIECE_OCTETS_MAX
        ):
            return False
        contents = run.contents_at(indexes)
        octets = sum(map(len, contents))
        piece.extend(contents, octets, run.body_octets_of(indexes), run.body_size)
        self._counted(octets, 0)
        return True

    def join(self, run: EntriesRun, position: int) -> bool:
        """Extend the last one by entries, if nobody can have seen it and it is not too large; tell whether it was."""
        self._growing = None, 0
        pieces = self._pieces
        piece = pieces[-1] if pieces else None
        if piece is None or piece.offset < self._sealed_to or not position or piece.position != position:
            return False
        mine = piece.run
        if (
            not isinstance(mine, EntriesRun)
            or mine.entries + run.entries > ENTRIES_MAX
            or mine.octets + run.octets > ENTRIES_OCTETS_MAX
            or mine.stays_apart(run)
        ):
            return False
        piece.join(run)
        self._counted(run.octets, 0)
        return True

    def append(self, piece: Piece) -> None:
        """Put one behind the others."""
        self._pieces.append(piece)
        self._counted(piece.octets, 0)

    def merge(self, stop: int, *, entries: bool) -> None:
        """Make the last ones one piece that end at `stop` or before, of `entries` only if asked to.

        Streams with little to do have fewer and fuller chunks that way.
        """
        pieces = self._pieces
        at = bisect_right(pieces, stop, key=_STOP) - 1
        while at > 0:
            before, piece = pieces[at - 1], pieces[at]
            if (
                before.offset < self._sealed_to
                or (isinstance(piece.run, EntriesRun) and not entries)
                or not before.can_merge(piece)
            ):
                return
            before.merge(piece)
            del pieces[at]
            self._counted(-PIECE_OCTETS, 0)
            at -= 1

    def restore(self, pieces: list[Piece]) -> None:
        """Begin with what a start found, all of it without contents."""
        self._pieces = pieces

    def replace(self, piece: Piece, pieces: list[Piece]) -> None:
        """Put some with contents in the place of one without.

        Entries come as a whole: if there are more than that had, the next ones have them no more.
        """
        at = self._pieces.index(piece)
        stop = pieces[-1].stop if pieces else piece.stop
        behind = at + 1
        while behind < len(self._pieces) and self._pieces[behind].stop <= stop:
            behind += 1
        if behind < len(self._pieces):
            self._pieces[behind].begin_at(stop)
        self._pieces[at:behind] = pieces
        self._counted(sum([each.octets for each in pieces]), 0)

    # -- out -----------------------------------------------------------------------------------------------------------

    def movable(self, moved_to: int, stop: int, octets_max: int) -> list[Piece]:
        """Return the oldest that are not in the files and end at `stop` or before: one without contents comes alone.

        They do not change any more.
        """
        found: list[Piece] = []
        for piece in islice(self._pieces, self._moved_count(moved_to), None):
            if octets_max <= 0 or piece.stop > stop or (found and piece.run is None):
                break
            found.append(piece)
            if piece.run is None:
                break
            octets_max -= piece.octets
        if found:
            self._seal(found[-1])
        return found

    def moved(self, pieces: list[Piece]) -> None:
        """Count those that are in the files now."""
        octets = sum([piece.octets for piece in pieces])
        self._counted(-octets, octets)

    def drop(self, moved_to: int, read_to: int, kept_octets: int) -> None:
        """Let the oldest go of those that moved, until no more octets of them are left, nor one that was read to."""
        cached = self._pieces[: self._moved_count(moved_to)]
        left = sum([piece.octets for piece in cached])
        gone = 0
        for piece in cached:
            if left <= kept_octets and piece.stop > read_to:
                break
            left -= piece.octets
            gone += 1
            self._counted(0, -piece.octets)
        del self._pieces[:gone]

    def forget(self, moved_to: int) -> None:
        """Let all go: the stream is deleted."""
        pieces, self._pieces = self._pieces, []
        for piece in pieces:
            moved = piece.stop <= moved_to
            self._counted(0 if moved else -piece.octets, -piece.octets if moved else 0)

    def _moved_count(self, moved_to: int) -> int:
        """Return how many are in the files already; with much in memory that is most of them."""
        return bisect_left(self._pieces, moved_to, key=_OFFSET)

    def _counted(self, pending: int, cached: int) -> None:
        self.pending += pending
        self._count(pending, cached)
