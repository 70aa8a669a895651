"""Scanner: finds the records in a segment's octets, and behind damage the next one that is sound.

Fed piece by piece, so that a segment need not be in memory at once. Knows records, not what is in them.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from google_crc32c import extend

from pybroker.store.format import FOOTER, PAYLOAD_MAX, RECORD, RECORD_OCTETS, TYPE_MAX, check

_NOTHING: Final = bytes(RECORD_OCTETS)
# Octets 7..9 of every record: a length below PAYLOAD_MAX, a type, no flags.
_MAYBE: Final = re.compile(rb"(?<=[\x00-\x0f])[\x01-\x07]\x00")
_MAYBE_AT: Final = 8


class Record(NamedTuple):
    """A record whose crc is right. It begins at `offset` of the file."""

    offset: int
    type: int
    payload: bytes


class Damaged(NamedTuple):
    """Octets of the file that are no record. `type`: of the record they were, if that can still be told, else 0."""

    offset: int
    octets: int
    type: int


Found: TypeAlias = Record | Damaged


def scan(octets: bytes, start: int, seed: int) -> Iterator[Found]:
    """Give the records of a whole segment from offset `start` on, and what is damaged between them."""
    return Scanner(seed, start).feed(octets[start:], final=True)


class _Next(Enum):
    """The next step where no sound record begins."""

    WAIT = 0  # for more octets
    ZEROS = 1  # there is nothing but zeros
    SKIP = 2  # one record, whose end is known
    SEARCH = 3  # its end is not known


class Scanner:
    """`at` is where in the file the next record is looked for, `end` where the last sound one ended.

    The records end at zeros up to the end of the file, with a FOOTER, or with the file.
    """

    __slots__ = ("_bad", "_bad_end", "_rest", "_seed", "_zeros", "at", "done", "end")

    def __init__(self, seed: int, start: int) -> None:
        self._seed = seed
        self.at = self.end = start
        self.done = False  # nothing counts behind a FOOTER
        self._rest = b""
        # How many zeros were seen from `at` on, and nothing else. They are not kept.
        self._zeros = 0
        # The offset of damage whose end is not found yet (-1: none), and the end of its last octet that is not 0.
        self._bad = self._bad_end = -1

    @property
    def missing(self) -> int:
        """Return how many octets the record needs that has come in part, as far as its head is sound; else 0."""
        rest = self._rest
        length = self._length(rest, 0) if self._bad < 0 and len(rest) >= RECORD_OCTETS else -1
        return max(0, RECORD_OCTETS + length - len(rest)) if length >= 0 else 0

    def feed(self, octets: bytes, *, final: bool = False) -> Iterator[Found]:
        """Give what can be told with these next octets of the file. Take all of it before feeding again."""
        if self.done:
            return
        if self._zeros:
            if octets == bytes(len(octets)):
                self._zeros += len(octets)
                return
            # Zeros amid the records are damage. A record may begin in the last of them: its crc may start with zeros.
            kept = min(self._zeros, RECORD_OCTETS - 1)
            self._bad = self._bad_end = self.at
            self.at += self._zeros - kept
            self._zeros = 0
            octets = bytes(kept) + octets
        elif self._rest:
            octets = self._rest + octets
        base = self.at
        at = 0
        while True:
            if self._bad >= 0:
                at, found = self._search(octets, at, base, final)
                if not found:
                    break
                yield Damaged(self._bad, base + at - self._bad, 0)
                self._bad = -1
            yield from self._sound(octets, at, base)
            at = max(at, self.end - base)
            if self.done:
                break
            then = self._judge(octets, at, final)
            if then is _Next.SEARCH:
                self._bad = self._bad_end = base + at
                at += 1
            elif then is _Next.SKIP:
                _, length, kind, _, _ = RECORD.unpack_from(octets, at)
                yield Damaged(base + at, RECORD_OCTETS + length, kind)
                at += RECORD_OCTETS + length
            else:
                if then is _Next.ZEROS:
                    self._zeros = len(octets) - at
                break
        self.at = base + at
        self._rest = b"" if self._zeros or final else octets[at:]
        if final and self._bad >= 0:
            yield Damaged(self._bad, self._bad_end - self._bad, 0)
            self._bad = -1

    def _sound(self, octets: bytes, at: int, base: int) -> Iterator[Record]:
        """Give records up to the first that is damaged or not all there."""
        seed = self._seed
        unpack = RECORD.unpack_from
        size = len(octets)
        last = size - RECORD_OCTETS
        while at <= last:
            crc, length, kind, _, _ = unpack(octets, at)
            end = at + RECORD_OCTETS + length
            if end > size:
                return
            body = octets[at + 4 : end]
            if extend(seed, body) != crc or not kind:
                return
            self.end = base + end
            self.done = kind == FOOTER
            yield Record(base + at, kind, body[8:])
            if self.done:
                return
            at = end

    def _judge(self, octets: bytes, at: int, final: bool) -> _Next:
        """Tell what there is at `at`, where no sound record is."""
        left = len(octets) - at
        if left < RECORD_OCTETS:
            if not final or not left:
                return _Next.WAIT
            return _Next.ZEROS if octets[at:] == bytes(left) else _Next.SEARCH
        if octets[at : at + RECORD_OCTETS] == _NOTHING:
            return _Next.ZEROS if octets[at:] == bytes(left) else _Next.SEARCH
        length = self._length(octets, at)
        if length < 0:
            return _Next.SEARCH
        if RECORD_OCTETS + length > left:
            return _Next.SEARCH if final else _Next.WAIT
        # Its length is trusted only if another record, or the end, is where it says.
        return _Next.SKIP if self._begins(octets, at + RECORD_OCTETS + length, final) else _Next.SEARCH

    def _length(self, octets: bytes, at: int) -> int:
        """Return the length of the payload whose record seems to begin here; -1 if none does."""
        _, length, kind, flags, checked = RECORD.unpack_from(octets, at)
        fine = (
            checked == check(length, kind, self._seed) and length <= PAYLOAD_MAX and 1 <= kind <= TYPE_MAX and not flags
        )
        return length if fine else -1

    def _begins(self, octets: bytes, at: int, final: bool) -> bool:
        """Tell whether a record may begin here, or the end."""
        if at + RECORD_OCTETS > len(octets):
            return not final or not any(octets[at:])
        return self._length(octets, at) >= 0 or octets[at : at + RECORD_OCTETS] == _NOTHING

    def _search(self, octets: bytes, at: int, base: int, final: bool) -> tuple[int, bool]:
        """Look for a record that is sound: where it is; or up to where there is none, or one that is not all there."""
        size = len(octets)
        filled = len(octets.rstrip(b"\0"))
        if filled:
            self._bad_end = max(self._bad_end, base + filled)
        for match in _MAYBE.finditer(octets, at + _MAYBE_AT, min(filled + 1, size)):
            start = match.start() - _MAYBE_AT
            if start + RECORD_OCTETS > size:
                break
            length = self._length(octets, start)
            if length < 0:
                continue
            end = start + RECORD_OCTETS + length
            if end > size:
                if not final:
                    return start, False
            elif extend(self._seed, octets[start + 4 : end]) == RECORD.unpack_from(octets, start)[0]:
                return start, True
        return (size if final else max(at, size - RECORD_OCTETS + 1)), False
