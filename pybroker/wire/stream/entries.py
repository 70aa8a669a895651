"""Entries of the stream protocol: cut out of Publish frames as they are, and told apart for those who look inside.

    frame      size u32 | key u16 = 2 | version u16 | publisher id u8 | number u32 | messages ...
    message    publishing id u64 | entry                                               of version 1
               publishing id u64 | length i16, filter value, or -1 | entry             of version 2
    entry      length u32, below 2^31 | message
               1 bit, codec 3 bits, 4 zero bits | messages u16 | octets unpacked u32 | length u32 | sub-batch

Entries without their ids, one behind the other, are the data of a chunk. `scan`, `scan_filtered`, `cut` and `split` are
the reference of their twins in `_entries.c`, which stand in for them where it was built.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from struct import Struct
from typing import Final, NamedTuple

from pybroker.entries_run import APART_ENTRIES_MIN, APART_OCTETS_MIN, ENTRIES_MAX, ENTRIES_OCTETS_MAX, LENGTH_OCTETS
from pybroker.wire.stream.bloom import bloom_of
from pybroker.wire.stream.codes import VERSION_1, VERSION_2, Key

PUBLISH: Final = int(Key.PUBLISH)
# Of what is cut out of several frames: one chunk; that of one frame alone may be longer.
DATA_OCTETS_MAX: Final = ENTRIES_OCTETS_MAX
# The same, and entries, with filter values: less becomes a chunk with others in any case.
FILTERED_ENTRIES_MAX: Final = APART_ENTRIES_MIN
FILTERED_OCTETS_MAX: Final = APART_OCTETS_MIN
# The codec of an entry that is no sub-batch; those of sub-batches are 0 (none), 1 (gzip), 2 to 7.
SINGLE: Final = -1

_HEAD_OCTETS: Final = 13
_SIZE_OCTETS: Final = 4
_ID_OCTETS: Final = 8
_BATCH_OCTETS: Final = 11
_FILTER_OCTETS: Final = 2  # in front of a filter value
_VERSIONS: Final = {VERSION_1: _ID_OCTETS, VERSION_2: _ID_OCTETS + _FILTER_OCTETS}  # in front of an entry, at least
_head: Final = Struct(">LHHBL").unpack_from  # size, key, version, publisher id, number of messages
_batch: Final = Struct(">BHLL").unpack_from  # bit and codec, messages, octets unpacked, length
_length: Final = Struct(">L").unpack_from
_filter_length: Final = Struct(">h").unpack_from
_id: Final = Struct(">Q").unpack_from

# The version of the interface that `_entries.c` shares with this file: one that was built for an older is not used.
SEAM: Final = 3

Buffer = bytes | bytearray


class Published(NamedTuple):
    """Entries of one publisher: `data` as a chunk has them, `ids` eight octets each, big-endian, in the same order.

    `first_id` and `last_id` are 0 without entries. The octets at `next_at` are looked at next. `bloom` is of the filter
    values.
    """

    data: bytes
    entries: int
    messages: int
    ids: bytes
    first_id: int
    last_id: int
    next_at: int
    bloom: bytes = b""


class Entry(NamedTuple):
    """A message, or a sub-batch of so many messages whose `data` become `unpacked` octets once opened by its codec.

    `offset` counts the messages of all entries before it.
    """

    offset: int
    messages: int
    codec: int
    data: bytes
    unpacked: int


Scanned = tuple[bytes, int, int, bytes, int, int, int, bytes]


def pure_scan(buffer: Buffer, at: int, stop: int) -> Scanned | None:
    """Return what `Published` has, of consecutive whole Publish frames of version 1, or None: see `scan`."""
    return _scan_frames(buffer, at, stop, VERSION_1, 0)


def pure_scan_filtered(buffer: Buffer, at: int, stop: int, bloom_octets: int) -> Scanned | None:
    """Return the same of frames of version 2."""
    return _scan_frames(buffer, at, stop, VERSION_2, bloom_octets)


def _scan_frames(buffer: Buffer, at: int, stop: int, version: int, bloom_octets: int) -> Scanned | None:
    data: list[bytes] = []
    ids: list[bytes] = []
    values: list[bytes | None] = []
    entries = messages = octets = 0
    publisher = -1
    octets_max, entries_max = DATA_OCTETS_MAX, ENTRIES_MAX
    if version == VERSION_2:
        octets_max, entries_max = FILTERED_OCTETS_MAX, FILTERED_ENTRIES_MAX
    while (head := _publish_head(buffer, at, stop, version)) is not None:
        frame_stop, publisher_id, number = head
        more = frame_stop - at - _HEAD_OCTETS - _VERSIONS[version] * number
        full = octets + more > octets_max or entries + number > entries_max
        if publisher >= 0 and (publisher_id != publisher or full):
            break
        found = _messages(buffer, at + _HEAD_OCTETS, frame_stop, number, version)
        if found is None:
            break
        publisher = publisher_id
        data += found[0]
        ids += found[1]
        values += found[2]
        messages += found[3]
        entries += number
        octets += more
        at = frame_stop
    if publisher < 0:
        return None
    joined = b"".join(ids)
    first_id, last_id = (_id(joined)[0], _id(joined, len(joined) - _ID_OCTETS)[0]) if joined else (0, 0)
    bloom = bloom_of(values, bloom_octets) if version == VERSION_2 else b""
    return b"".join(data), entries, messages, joined, first_id, last_id, at, bloom


def _publish_head(buffer: Buffer, at: int, stop: int, wanted: int) -> tuple[int, int, int] | None:
    """Return stop, publisher id and number of messages of the frame there; None: it is no whole Publish."""
    if stop - at < _HEAD_OCTETS:
        return None
    size, key, version, publisher_id, number = _head(buffer, at)
    frame_stop = at + _SIZE_OCTETS + size
    if key != PUBLISH or version != wanted or frame_stop > stop:
        return None
    # So many messages have this in front of their entries, and a length each, before anything is made for them.
    if frame_stop - at - _HEAD_OCTETS < (_VERSIONS[version] + LENGTH_OCTETS) * number:
        return None
    return frame_stop, publisher_id, number


Found = tuple[list[bytes], list[bytes], list[bytes | None], int]


def _messages(buffer: Buffer, at: int, stop: int, number: int, version: int) -> Found | None:
    """Return entries, ids, filter values and the number of messages; None: they do not end where the frame does."""
    data, ids, messages = [], [], 0
    values: list[bytes | None] = []
    for _ in range(number):
        start = at + _VERSIONS[version]
        if start > stop:
            return None
        value_at, length = start, -1
        if version == VERSION_2:
            length = _filter_length(buffer, at + _ID_OCTETS)[0]
            start += max(0, length)
        end, count = _entry(buffer, start, stop)
        if not count or length < -1:
            return None
        ids.append(bytes(buffer[at : at + _ID_OCTETS]))
        values.append(bytes(buffer[value_at:start]) if length >= 0 else None)
        data.append(_clean(buffer, start, end))
        messages += count
        at = end
    return (data, ids, values, messages) if at == stop else None


def _entry(buffer: Buffer, at: int, stop: int) -> tuple[int, int]:
    """Return where the entry there ends and its number of messages; 0 messages: it is malformed."""
    if stop - at < LENGTH_OCTETS:
        return at, 0
    length = _length(buffer, at)[0]
    if length < 1 << 31:
        end, count = at + LENGTH_OCTETS + length, 1
    elif stop - at < _BATCH_OCTETS:
        return at, 0
    else:
        # Differs from RabbitMQ: a sub-batch of no messages is malformed, since no offset would be its own.
        _, count, _, length = _batch(buffer, at)
        end = at + _BATCH_OCTETS + length
    return (end, count) if end <= stop else (at, 0)


def _clean(buffer: Buffer, start: int, end: int) -> bytes:
    """Return an entry with zeros for the bits that mean nothing."""
    first = buffer[start]
    if first < 1 << 7 or not first & 0x0F:
        return bytes(buffer[start:end])
    return bytes([first & 0xF0]) + buffer[start + 1 : end]


def pure_cut(data: Buffer, at: int, entries_max: int, octets_max: int) -> tuple[int, int, int]:
    """Return where as many whole entries end as are within both limits, their number, and that of their messages.

    There is at least one, however long, unless `at` is the end. Raises ValueError for malformed data.
    """
    stop, start = len(data), at
    entries = messages = 0
    while at < stop and (not entries or entries < entries_max):
        end, count = _entry(data, at, stop)
        if not count:
            raise ValueError(f"malformed entry at octet {at}")
        if entries and end - start > octets_max:
            break
        at = end
        entries += 1
        messages += count
    return at, entries, messages


def pure_split(data: Buffer, at: int) -> tuple[list[bytes], int]:
    """Return the messages of entries that are no sub-batches, and where the first that is one begins, or the end.

    Raises ValueError for malformed data.
    """
    stop = len(data)
    messages = []
    while at < stop:
        start = at + LENGTH_OCTETS
        if start > stop:
            raise ValueError(f"malformed entry at octet {at}")
        length = _length(data, at)[0]
        if length >= 1 << 31:
            break
        if start + length > stop:
            raise ValueError(f"malformed entry at octet {at}")
        at = start + length
        messages.append(bytes(data[start:at]))
    return messages, at


def entries_of(data: Buffer) -> Iterator[Entry]:
    """Yield the entries of a chunk's data. Raises ValueError for malformed data."""
    at, offset, stop = 0, 0, len(data)
    while at < stop:
        end, count = _entry(data, at, stop)
        if not count:
            raise ValueError(f"malformed entry at octet {at}")
        if data[at] < 1 << 7:
            yield Entry(offset, 1, SINGLE, bytes(data[at + LENGTH_OCTETS : end]), end - at - LENGTH_OCTETS)
        else:
            first, _, unpacked, _ = _batch(data, at)
            yield Entry(offset, count, first >> 4 & 7, bytes(data[at + _BATCH_OCTETS : end]), unpacked)
        offset += count
        at = end


Scan = Callable[[Buffer, int, int], Scanned | None]
ScanFiltered = Callable[[Buffer, int, int, int], Scanned | None]
Cut = Callable[[Buffer, int, int, int], tuple[int, int, int]]
Split = Callable[[Buffer, int], tuple[list[bytes], int]]


def _choose() -> tuple[str, Scan, ScanFiltered, Cut, Split]:
    """Return what `status` calls it, and the functions: C where it was built, unless PYBROKER_PURE is 1."""
    if os.environ.get("PYBROKER_PURE") != "1":
        with suppress(ImportError):
            from pybroker.wire.stream import _entries  # noqa: PLC0415 - it may be missing

            if _entries.SEAM == SEAM:
                return "C", _entries.scan, _entries.scan_filtered, _entries.cut, _entries.split
    return "pure Python", pure_scan, pure_scan_filtered, pure_cut, pure_split


CODEC, _scan, _scan_filtered, cut, split = _choose()


def scan(buffer: Buffer, at: int, stop: int) -> Published | None:
    """Return the entries of consecutive whole Publish frames, of version 1 and one publisher, between two places.

    Frames are taken as long as all their entries stay within DATA_OCTETS_MAX and ENTRIES_MAX; the first one always is.
    None: that one is malformed, or not whole.
    """
    found = _scan(buffer, at, stop)
    return None if found is None else Published._make(found)


def scan_filtered(buffer: Buffer, at: int, stop: int, bloom_octets: int) -> Published | None:
    """Return the same of frames of version 2, the bloom of their filter values with so many octets.

    They are taken within FILTERED_OCTETS_MAX, filter values included, and FILTERED_ENTRIES_MAX.
    """
    found = _scan_filtered(buffer, at, stop, bloom_octets)
    return None if found is None else Published._make(found)
