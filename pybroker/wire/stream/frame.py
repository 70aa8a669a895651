"""Frames of the stream protocol: a size (u32, itself not counted), key (u16), version (u16), and what the key says.

request    size | key | version | correlation id u32 | ...
response   size | key with its highest bit | version | correlation id u32 | code u16 | ...
command    size | key | version | ...        nobody answers
"""

from struct import Struct
from typing import Final, NamedTuple

from pybroker.wire.stream.codes import RESPONSE, VERSION_1, VERSION_2, Code, Key

SIZE_OCTETS: Final = 4
# Size, key and version.
HEAD_OCTETS: Final = 8

_head: Final = Struct(">LHH")
_size: Final = Struct(">L").unpack_from
_response: Final = Struct(">LHHLH").pack
_confirm: Final = Struct(">LHHBL").pack
ID_OCTETS: Final = 8
# Of a Deliver, in front of its chunk.
DELIVER_OCTETS_MAX: Final = 17
_deliver: Final = Struct(">LHHB").pack
_deliver_2: Final = Struct(">LHHBQ").pack
_credit: Final = Struct(">LHHHB").pack
_tune: Final = Struct(">LHHLL").pack


class FrameTooLargeError(Exception):
    """A frame announces more octets than may come."""

    def __init__(self, size: int, octets_max: int) -> None:
        super().__init__(f"Frame size ({size} bytes) exceeds maximum ({octets_max} bytes)")


class MalformedFrameError(Exception):
    """The octets of a frame are none of a command that is known."""


class Frame(NamedTuple):
    """A whole frame: its content lies from `start` up to `stop`, where the next frame begins."""

    key: int
    version: int
    start: int
    stop: int


def split_frame(buffer: bytes, at: int, octets_max: int) -> Frame | None:
    """Return the frame that begins at `at`; None if it has not come whole. With `octets_max` 0 it may be of any size.

    Raises FrameTooLargeError, MalformedFrameError if it is too short to have a key and a version.
    """
    if len(buffer) - at < SIZE_OCTETS:
        return None
    size = _size(buffer, at)[0]
    if octets_max and size > octets_max:
        raise FrameTooLargeError(size, octets_max)
    stop = at + SIZE_OCTETS + size
    if len(buffer) < stop:
        return None
    if size < HEAD_OCTETS - SIZE_OCTETS:
        raise MalformedFrameError(f"a frame of {size} octets")
    _, key, version = _head.unpack_from(buffer, at)
    return Frame(key, version, at + HEAD_OCTETS, stop)


def announced_octets(buffer: bytes, at: int) -> int:
    """Return how many octets the frame that begins at `at` has; 0: that has not come yet."""
    return SIZE_OCTETS + int(_size(buffer, at)[0]) if len(buffer) - at >= SIZE_OCTETS else 0


def frame(key: int, content: bytes = b"", version: int = VERSION_1) -> bytes:
    """Return a frame with this content."""
    return _head.pack(len(content) + HEAD_OCTETS - SIZE_OCTETS, key, version) + content


def response(key: int, correlation_id: int, code: int, content: bytes = b"") -> bytes:
    """Return the response to a request."""
    return _response(len(content) + 10, key | RESPONSE, VERSION_1, correlation_id, code) + content


def publish_confirm(publisher_id: int, ids: bytes, octets_max: int = 0) -> list[bytes]:
    """Return PublishConfirms, none larger than a frame may be (0: of any size); `ids` are of eight octets each."""
    return [
        _confirm(len(part) + 9, Key.PUBLISH_CONFIRM, VERSION_1, publisher_id, len(part) // ID_OCTETS) + part
        for part in _parts(ids, octets_max, ID_OCTETS)
    ]


def publish_error(publisher_id: int, ids: bytes, code: Code, octets_max: int = 0) -> list[bytes]:
    """Return PublishErrors, none larger than a frame may be, with one code for all of these ids."""
    told = code.to_bytes(2)
    frames = []
    for part in _parts(ids, octets_max, ID_OCTETS + len(told)):
        details = b"".join([part[at : at + ID_OCTETS] + told for at in range(0, len(part), ID_OCTETS)])
        count = len(part) // ID_OCTETS
        frames.append(_confirm(len(details) + 9, Key.PUBLISH_ERROR, VERSION_1, publisher_id, count) + details)
    return frames


def _parts(ids: bytes, octets_max: int, each: int) -> list[bytes]:
    """Return ids as many as frames have room for, if one takes `each` octets there; one at least."""
    step = max(1, (octets_max - 9) // each) * ID_OCTETS if octets_max else len(ids)
    return [ids] if step >= len(ids) else [ids[at : at + step] for at in range(0, len(ids), step)]


def credit_error(subscription_id: int, code: Code) -> bytes:
    """Return the response to a Credit that could not be given; it has no correlation id."""
    return _credit(7, Key.CREDIT | RESPONSE, VERSION_1, code, subscription_id)


def tune(frame_octets_max: int, heartbeat_s: int) -> bytes:
    """Return a Tune, which has no correlation id."""
    return _tune(12, Key.TUNE, VERSION_1, frame_octets_max, heartbeat_s)


def deliver(subscription_id: int, chunk_octets: int, committed_offset: int | None) -> bytes:
    """Return what is in front of a chunk; with a committed offset, which version 2 has, if one is given."""
    if committed_offset is None:
        return _deliver(chunk_octets + 5, Key.DELIVER, VERSION_1, subscription_id)
    return _deliver_2(chunk_octets + 13, Key.DELIVER, VERSION_2, subscription_id, committed_offset)
