"""The end of a chunk: does it begin one more publish that is right so far?

If so it waits for the rest, and is scanned as one of a run, instead of being put together frame by frame. A publish
that breaks a rule already, or is long, does not wait: the frame path answers it, or takes it in pieces.
"""

from struct import Struct
from typing import Any, Final

# More than that is not copied again with each chunk that continues it.
UNFINISHED_OCTETS_MAX: Final = 16_384

_PUBLISH: Final = b"\0\x3c\0\x28"
_BASIC: Final = b"\0\x3c\0\0"
_frame_head = Struct(">BHL").unpack_from  # type, channel, length
_body_size = Struct(">Q").unpack_from


def is_unfinished(data: bytes, position: int, routes: dict[bytes, Any], octets_max: int, message_max: int) -> bool:
    """Tell whether `data[position:]` is the beginning of a publish with a known route, and right so far.

    The bounds are those of `content.scan`, which has left this where it is. Never raises.
    """
    end = len(data)
    if end - position > UNFINISHED_OCTETS_MAX or not data.startswith(_PUBLISH, position + 7):
        return False
    kind, channel, length = _frame_head(data, position)
    at = position + 8 + length
    if at > end or data[position:at] not in routes:
        return False
    if end - at < 7:
        return end == at or data.startswith(b"\2", at)
    kind, number, length = _frame_head(data, at)
    if kind != 2 or number != channel or not 14 <= length <= octets_max:
        return False
    stop = at + 7 + length
    if stop >= end:
        return True
    (left,) = _body_size(data, at + 11)
    if data[stop] != 0xCE or not data.startswith(_BASIC, at + 7) or left > message_max:
        return False
    while left:
        at = stop + 1
        if end - at < 7:
            return end == at or data.startswith(b"\3", at)
        kind, number, length = _frame_head(data, at)
        if kind != 3 or number != channel or not 0 < length <= min(left, octets_max):
            return False
        stop = at + 7 + length
        if stop >= end:
            return True
        if data[stop] != 0xCE:
            return False
        left -= length
    return False
