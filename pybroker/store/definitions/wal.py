"""Wal: SQLite's write-ahead log, made readable again behind a flipped bit.

SQLite reads it up to the first frame whose checksum does not fit, for it cannot know better: whatever was committed
behind that is gone. We can: each of our rows has a checksum of its own, so that the frames are all taken for good here,
and what they hold is judged afterwards (definition_recovery.py). The format: https://www.sqlite.org/fileformat2.html#walformat
"""

from struct import Struct
from typing import Final

# Magic number, version, octets of a page, number of the checkpoint, two salts, two checksums.
_HEADER: Final = Struct(">8I")
# Number of the page, pages of the file if this is a commit, two salts, two checksums; then the page.
_FRAME: Final = Struct(">6I")
_SALTS: Final = Struct(">Q")
# Checksums are sums of little-endian words, which every machine may read and write.
_MAGIC: Final = 0x377F0682
_VERSION: Final = 3_007_000
PAGE_OCTETS: Final = 4_096
_WORDS: Final = Struct(f"<{PAGE_OCTETS // 4}I")
_MASK: Final = 0xFFFFFFFF


def mended(octets: bytes) -> bytes:
    """Return a log with all frames of the last run, whatever their checksums; empty if there are none.

    A run begins with new salts at the front of the file; behind it stands what is left of earlier ones.
    """
    step = _FRAME.size + PAGE_OCTETS
    frames = [octets[at : at + step] for at in range(_HEADER.size, len(octets) - step + 1, step)]
    salts = _salts(octets, frames)
    if not salts:
        return b""
    (wanted,) = _SALTS.unpack(salts)
    head = _HEADER.pack(_MAGIC, _VERSION, PAGE_OCTETS, 0, 0, 0, 0, 0)[:16] + salts
    sums = _add(0, 0, Struct("<6I").unpack(head))
    parts = [head + Struct(">2I").pack(*sums)]
    for frame in frames:
        (found,) = _SALTS.unpack(frame[8:16])
        if (found ^ wanted).bit_count() > 1:
            break
        sums = _add(*sums, Struct("<2I").unpack(frame[:8]) + _WORDS.unpack(frame[_FRAME.size :]))
        parts.append(frame[:8] + salts + Struct(">2I").pack(*sums) + frame[_FRAME.size :])
    return b"".join(parts)


def _salts(octets: bytes, frames: list[bytes]) -> bytes:
    """Return the salts of the last run, of which one bit may be flipped in one place; empty if it has no frame."""
    if not frames:
        return b""
    header, first = octets[16:24], frames[0][8:16]
    (one,), (other,) = _SALTS.unpack(header), _SALTS.unpack(first)
    if (one ^ other).bit_count() > 1:
        return b""
    return first if frames[1:] and frames[1][8:16] == first else header


def _add(first: int, second: int, words: tuple[int, ...]) -> tuple[int, int]:
    """Return SQLite's two sums, continued over an even number of words."""
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & _MASK
        second = (second + words[at + 1] + first) & _MASK
    return first, second
