"""Python values -> Spark's VARIANT (Parquet's Variant Encoding, version 1): each keeps its type, unlike in JSON.

value     one octet of header: basic type in bits 0 and 1, what it says of itself in the others; then the octets
metadata  header 0x01 | (octets of an offset - 1) << 6, number of names, offsets of names, names
"""

import struct
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

_PRIMITIVE, _SHORT_STRING, _OBJECT, _ARRAY = range(4)
_NULL, _TRUE, _FALSE, _INT8, _INT16, _INT32, _INT64, _DOUBLE, _DECIMAL4, _DECIMAL8, _DECIMAL16 = range(11)
_TIMESTAMP: Final = 12
_BINARY: Final = 15
_STRING: Final = 16
_INTS: Final = ((_INT8, 1), (_INT16, 2), (_INT32, 4), (_INT64, 8))
# Type, octets of the unscaled number, digits it may have.
_DECIMALS: Final = ((_DECIMAL4, 4, 9), (_DECIMAL8, 8, 18), (_DECIMAL16, 16, 38))
_SHORT_MAX: Final = 63
_SMALL_MAX: Final = 255


def encode_variant(value: Any) -> tuple[bytes, bytes]:
    """Return value and metadata. Raises ValueError for what no variant can hold."""
    names: dict[str, int] = {}
    octets = _encode(value, names)
    texts = [name.encode() for name in names]
    size = _offset_octets(max(len(texts), sum(map(len, texts))))
    offsets, end = [0], 0
    for text in texts:
        end += len(text)
        offsets.append(end)
    numbers = b"".join(number.to_bytes(size, "little") for number in (len(texts), *offsets))
    return octets, bytes((0x01 | (size - 1) << 6,)) + numbers + b"".join(texts)


def _encode(value: Any, names: dict[str, int]) -> bytes:
    match value:
        case None:
            return _primitive(_NULL)
        case bool():
            return _primitive(_TRUE if value else _FALSE)
        case int():
            return _encode_int(value)
        case float():
            return _primitive(_DOUBLE) + struct.pack("<d", value)
        case str():
            return _encode_string(value.encode(errors="replace"))
        case bytes():
            return _primitive(_BINARY) + len(value).to_bytes(4, "little") + value
        case datetime():
            return _primitive(_TIMESTAMP) + (int(value.timestamp()) * 1_000_000).to_bytes(8, "little", signed=True)
        case Decimal():
            return _encode_decimal(value)
        case Mapping():
            return _encode_object(value, names)
        case list() | tuple():
            return _encode_array([_encode(item, names) for item in value])
    raise ValueError(f"no variant holds {value!r:.60}")


def _primitive(kind: int) -> bytes:
    return bytes((kind << 2 | _PRIMITIVE,))


def _encode_int(value: int) -> bytes:
    for kind, size in _INTS:
        if -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1:
            return _primitive(kind) + value.to_bytes(size, "little", signed=True)
    return _encode_decimal(Decimal(value))


def _encode_decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"no variant holds {value}")  # noqa: TRY004 - infinity is a Decimal, too
    unscaled: int = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    scale = max(-exponent, 0)
    for kind, size, most in _DECIMALS:
        if max(len(str(unscaled)), scale) <= most:
            number = (-unscaled if sign else unscaled).to_bytes(size, "little", signed=True)
            return _primitive(kind) + bytes((scale,)) + number
    # AMQP's decimals have up to 255 places, a variant's 38. As a text: a message must not stand in the way of others.
    return _encode_string(str(value).encode())


def _encode_string(octets: bytes) -> bytes:
    if len(octets) <= _SHORT_MAX:
        return bytes((len(octets) << 2 | _SHORT_STRING,)) + octets
    return _primitive(_STRING) + len(octets).to_bytes(4, "little") + octets


def _encode_object(value: Mapping[str, Any], names: dict[str, int]) -> bytes:
    """Return an object: its fields stand in the order of their names, by which Spark searches them: that of UTF-16."""
    fields = {name: _encode(value[name], names) for name in sorted(value, key=_utf_16)}
    ids = [names.setdefault(name, len(names)) for name in fields]
    id_size = _offset_octets(max(ids, default=0))
    sizes, body, size = _lay_out(list(fields.values()))
    is_large = len(fields) > _SMALL_MAX
    header = (is_large << 4 | (id_size - 1) << 2 | size - 1) << 2 | _OBJECT
    all_ids = b"".join(number.to_bytes(id_size, "little") for number in ids)
    return bytes((header,)) + _count(len(fields), is_large) + all_ids + sizes + body


def _utf_16(name: str) -> bytes:
    return name.encode("utf-16-be")


def _encode_array(items: list[bytes]) -> bytes:
    sizes, body, size = _lay_out(items)
    is_large = len(items) > _SMALL_MAX
    header = (is_large << 2 | size - 1) << 2 | _ARRAY
    return bytes((header,)) + _count(len(items), is_large) + sizes + body


def _lay_out(items: list[bytes]) -> tuple[bytes, bytes, int]:
    """Return the offsets, the items themselves, and how many octets an offset has."""
    body = b"".join(items)
    size = _offset_octets(len(body))
    offsets, end = [0], 0
    for item in items:
        end += len(item)
        offsets.append(end)
    return b"".join(offset.to_bytes(size, "little") for offset in offsets), body, size


def _count(number: int, is_large: bool) -> bytes:
    return number.to_bytes(4 if is_large else 1, "little")


def _offset_octets(highest: int) -> int:
    return max(1, (highest.bit_length() + 7) // 8)
