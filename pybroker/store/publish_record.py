"""The octets of a PUBLISH: messages of one run, and the queues that they reached. Pure functions.

A record's payload, little-endian:

    set u32 | n u32 | first seq u64 | arrived, steady wall ms u64 | ttl ms u64 (all ones: none) |
    frame_octets_max u32 | content size u32 (0: they differ) | body size u32 (all ones: they differ) |
    channel u16 | priority u8 | wants u8 | exchange and routing key, each u8 and octets |
    n * content size u32 if they differ | n contents

The highest bit of wants says that the messages are transient: there are such in the page log, and in streams. The bit
below says that they are entries of the stream protocol: their octets stand in the place of contents, and the number of
entries in the place of a content's size; a body's size is the mean. If the channel is 1 the priority is the number of
octets of their bloom, which stands behind the names (entries_run.py). Such a record is kept, and read, as a whole.
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from struct import Struct
from typing import Final

from google_crc32c import extend

from pybroker.content_view import body_size as body_size_of
from pybroker.entries_run import EntriesRun
from pybroker.run import Names, Run, RunAttributes
from pybroker.store.format import PUBLISH, check, column, little

_U32: Final = Struct("<I")
_PUBLISH: Final = Struct("<IIQQQIIIHBB")
_FRONT_PUBLISH: Final = Struct("<IBBHIIQQQIIIHBB")
_BRIEF: Final = Struct("<IIQ24xI")  # set, count, first seq, body size
SIZES: Final = Struct("<4xI28xII")  # count, content size, body size
_BODY_SIZE: Final = Struct(">Q")  # AMQP's octets, in a content from its octet 11 on (AMQP §4.2.6.1)
DIFFER: Final = 0xFFFFFFFF
_NO_TTL: Final = 0xFFFFFFFFFFFFFFFF
_TRANSIENT: Final = 0x80  # beside RunAttributes.wants
_ENTRIES: Final = 0x40
_BLOOM: Final = 1  # in the place of a channel
_WANTS_AT: Final = 47  # in the payload


def publish(set_id: int, run: Run, indexes: range, arrived_ms: int, seed: int) -> bytes:
    """Return the record of consecutive messages of a run, which reached the queues of `set_id`."""
    if isinstance(run, EntriesRun):
        return _publish_entries(set_id, run, arrived_ms, seed)
    contents = run.contents_at(indexes)
    count = len(contents)
    body_size = run.body_size
    sizes = b""
    if count == 1:
        (content,) = contents
        size = octets = len(content)
        body_size = body_size_of(content) if body_size < 0 else body_size
    else:
        lengths = array("I", map(len, contents))
        octets = sum(lengths)
        size = lengths[0]
        if lengths.count(size) != count:
            size = 0
            sizes = little(lengths)
        if body_size < 0:
            body_size = DIFFER
    names = run.names.tail[:-1]
    attributes = run.attributes
    ttl_ms = attributes.ttl_ms
    length = _PUBLISH.size + len(names) + len(sizes) + octets
    front = _FRONT_PUBLISH.pack(
        length,
        PUBLISH,
        0,
        (length ^ length >> 16 ^ PUBLISH << 8 ^ seed) & 0xFFFF,
        set_id,
        count,
        run.first_seq + indexes.start,
        arrived_ms,
        _NO_TTL if ttl_ms is None else ttl_ms,
        run.frame_octets_max,
        size,
        body_size,
        run.channel,
        attributes.priority,
        attributes.wants if attributes.persistent else attributes.wants | _TRANSIENT,
    )
    body = b"".join((front, names, sizes, *contents))
    return _U32.pack(extend(seed, body)) + body


def _publish_entries(set_id: int, run: EntriesRun, arrived_ms: int, seed: int) -> bytes:
    bloom = run.bloom or b""
    names = run.names.tail[:-1] + bloom
    length = _PUBLISH.size + len(names) + run.octets
    front = _FRONT_PUBLISH.pack(
        length,
        PUBLISH,
        0,
        check(length, PUBLISH, seed),
        set_id,
        run.count,
        run.first_seq,
        arrived_ms,
        _NO_TTL,
        0,
        run.entries,
        run.body_size,
        0 if run.bloom is None else _BLOOM,
        len(bloom),
        _ENTRIES,
    )
    front += names
    crc: int = extend(seed, front)
    for block in run.blocks:
        crc = extend(crc, block)
    return b"".join((_U32.pack(crc), front, *run.blocks))


def has_entries(payload: bytes) -> bool:
    """Tell whether a PUBLISH has entries of the stream protocol: it is not taken apart."""
    return bool(payload[_WANTS_AT] & _ENTRIES)


def range_of(payload: bytes) -> tuple[int, int]:
    """Return the first seq of a PUBLISH, and how many messages it has."""
    _, count, first, _ = _BRIEF.unpack_from(payload)
    return first, count


def kind_of(payload: bytes) -> bytes:
    """Return what two PUBLISH have in common if they could be one: names, attributes, channel, frames, arrival time."""
    return payload[16:36] + payload[44 : names_end(payload)]


def names_end(payload: bytes) -> int:
    """Return where the names of a PUBLISH end."""
    end = _PUBLISH.size
    end += 1 + payload[end]
    return end + 1 + payload[end]


def messages_of(payload: bytes) -> tuple[int, list[tuple[int, int, int]]]:
    """Return the target set of a PUBLISH and its messages: first seq, count, body size. Contents are not copied."""
    set_id, count, first, body_size = _BRIEF.unpack_from(payload)
    if body_size != DIFFER:
        return set_id, [(first, count, body_size)]
    _, starts = _starts(payload, count)
    body_size_at = _BODY_SIZE.unpack_from
    sizes = [body_size_at(payload, start + 11)[0] for start in starts[:-1]]
    return set_id, [(seq, 1, size) for seq, size in enumerate(sizes, first)]


def decode_publish(payload: bytes, more_wants: int = 0) -> Run:
    """Read a PUBLISH: a run with `arrived_ms` as it was stored, in steady wall time, and no origin.

    `more_wants` is added to what its attributes want.
    """
    _, count, first, arrived_ms, ttl_ms, frame_max, size, body_size, channel, priority, wants = _PUBLISH.unpack_from(
        payload
    )
    if wants & _ENTRIES:
        at = names_end(payload)
        bloom = payload[at : at + priority] if channel == _BLOOM else None
        data = payload[at + len(bloom or b"") :]
        return EntriesRun(first, [data], size, count, len(data), arrived_ms, bloom=bloom)
    split, starts = _starts(payload, count)
    names = _names(payload[_PUBLISH.size : split])
    attributes = _attributes(priority, ttl_ms, wants | more_wants)
    blob = payload[starts[0] :]
    if body_size == DIFFER:
        body_size_at = _BODY_SIZE.unpack_from
        body_octets = sum([body_size_at(payload, start + 11)[0] for start in starts[:-1]])
        body_size = -1
    else:
        body_octets = count * body_size
    if count == 1:
        return Run(names, attributes, first, [blob], len(blob), body_octets, body_size, arrived_ms, channel, frame_max)
    ends = array("I", range(0, len(blob) + 1, size) if size else [start - starts[0] for start in starts])
    return Run.of_block(names, attributes, first, blob, ends, body_octets, body_size, arrived_ms, channel, frame_max)


def _starts(payload: bytes, count: int) -> tuple[int, Sequence[int]]:
    """Return where the names of a PUBLISH end, and where each content begins; then where the last one ends."""
    split = names_end(payload)
    _, size, _ = SIZES.unpack_from(payload)
    if size:
        return split, range(split, len(payload) + 1, size)
    return split, list(accumulate(column("I", payload, split, count), initial=split + 4 * count))


@lru_cache(1024)
def _names(octets: bytes) -> Names:
    """Return the two names, one object for all runs of a route; the tail is what `publish.names_of` makes."""
    split = 1 + octets[0]
    return Names(octets[1:split].decode(), octets[split + 1 :].decode(), octets + b"\xce")


@lru_cache(1024)
def _attributes(priority: int, ttl_ms: int, wants: int) -> RunAttributes:
    ttl = None if ttl_ms == _NO_TTL else ttl_ms
    return RunAttributes(persistent=not wants & _TRANSIENT, priority=priority, ttl_ms=ttl, wants=wants & ~_TRANSIENT)
