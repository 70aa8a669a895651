"""Views of a content's octets: header frame and body frames, as a run keeps them (AMQP §4.2.6).

     0        1         3        7         9        11          19            7 + size
     type 2 | channel | size   | class 60 | weight | body size | properties | frame-end | body frames ...

The only place that reads a content by its offsets, but for `wire/content` and its C twin. Takes whole contents, which
were checked when they came in; nothing here raises.
"""

from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Final

_SIZE: Final = 3  # of the header frame's payload
_BODY_SIZE: Final = 11
_PROPERTIES: Final = 19
_EMPTY_FRAME_OCTETS: Final = 8
# Class, weight and body size, which come before the properties.
_BEFORE_PROPERTIES_OCTETS: Final = 12
# Of a number in the properties.
NUMBER_OCTETS: Final = 8
_number: Final = Struct(">Q").pack


def body_size(content: bytes) -> int:
    """Return the length of the body in octets, without its frames."""
    return int.from_bytes(content[_BODY_SIZE:_PROPERTIES])


def body_sizes(contents: Iterable[bytes]) -> list[int]:
    """Return the same for each of many."""
    return [int.from_bytes(content[11:19]) for content in contents]


def property_octets(content: bytes) -> bytes:
    """Return the property flags and values up to the frame-end (§4.2.6.1)."""
    return content[_PROPERTIES : _header_size(content) - 1]


def first_property_flags(content: bytes) -> int:
    """Return the first octet of the property flags."""
    return content[_PROPERTIES]


def with_properties(content: bytes, octets: bytes) -> bytes:
    """Return the content with other property flags and values."""
    size = (_BEFORE_PROPERTIES_OCTETS + len(octets)).to_bytes(4)
    header = content[:_SIZE] + size + content[_SIZE + 4 : _PROPERTIES] + octets + b"\xce"
    return header + content[_header_size(content) :]


def with_numbers(
    contents: list[bytes],
    number: int,
    split: Callable[[bytes], tuple[bytes, bytes]],
    frame_octets_max: int,
) -> list[bytes]:
    """Return contents of one channel with numbers in their properties, the first one's first.

    `split` gives what is before and behind a number for property octets without one; messages of one kind mostly have
    the same. A header frame that would come to more than `frame_octets_max` (0: not limited) stays as it is.
    """
    made, join = [], b"".join
    octets = size = head = before = behind = b""
    stop, fits = 0, True
    for content in contents:
        if content[3:7] != size or content[19:stop] != octets:
            octets, size = property_octets(content), content[3:7]
            stop = _PROPERTIES + len(octets)
            before, behind = split(octets)
            length = _BEFORE_PROPERTIES_OCTETS + len(before) + NUMBER_OCTETS + len(behind)
            head = content[:_SIZE] + length.to_bytes(4) + content[7:_BODY_SIZE]
            fits = not frame_octets_max or length + _EMPTY_FRAME_OCTETS <= frame_octets_max
        if fits:
            made.append(join((head, content[11:19], before, _number(number), behind, content[stop:])))
        else:
            made.append(content)
        number += 1
    return made


def body(content: bytes) -> bytes:
    """Return the body without its frames."""
    at = _header_size(content)
    parts = []
    while at < len(content):
        size = int.from_bytes(content[at + 3 : at + 7])
        parts.append(content[at + 7 : at + 7 + size])
        at += size + _EMPTY_FRAME_OCTETS
    return b"".join(parts)


def parts(contents: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the property octets and the body of each of many; messages of one kind mostly have the same properties."""
    octets = head = b""
    stop = 0
    for content in contents:
        if content[3:7] != head or content[19:stop] != octets:
            octets, head = property_octets(content), content[3:7]
            stop = _PROPERTIES + len(octets)
        start = stop + _EMPTY_FRAME_OCTETS
        # One frame: its length is that of the body.
        one = content[start - 4 : start] == content[15:19] and len(content) > start
        yield octets, content[start:-1] if one else body(content)


def body_start(content: bytes, octets_max: int) -> bytes:
    """Return the first octets of the body, without looking at the others."""
    at = _header_size(content)
    parts, left = [], octets_max
    while left > 0 and at < len(content):
        size = int.from_bytes(content[at + 3 : at + 7])
        parts.append(content[at + 7 : at + 7 + min(size, left)])
        left -= size
        at += size + _EMPTY_FRAME_OCTETS
    return b"".join(parts)


def body_parts(content: bytes, octets_max: int, part_octets: int) -> Iterator[bytes]:
    """Yield the same in parts of so many octets; only the last may be shorter."""
    at = _header_size(content)
    pieces, wanted, left = [], part_octets, octets_max
    while left > 0 and at < len(content):
        start = at + 7
        size = int.from_bytes(content[at + 3 : start])
        stop = start + min(size, left)
        left -= size
        at += size + _EMPTY_FRAME_OCTETS
        while start < stop:
            pieces.append(content[start : min(stop, start + wanted)])
            start += len(pieces[-1])
            wanted -= len(pieces[-1])
            if not wanted:
                yield b"".join(pieces)
                pieces, wanted = [], part_octets
    if pieces:
        yield b"".join(pieces)


def _header_size(content: bytes) -> int:
    """Return the length of the header frame: the body's frames begin there."""
    return int.from_bytes(content[_SIZE : _SIZE + 4]) + _EMPTY_FRAME_OCTETS
