"""Fields of the stream protocol's commands, one behind the other; numbers are big-endian.

    text      length u16 | UTF-8
    octets    length u32, 0xFFFFFFFF for none | octets
    list      number u32 | items: texts, or pairs of texts, or key, first and last version, u16 each
    offset    type u16 | value u64 of type OFFSET, milliseconds i64 of type TIMESTAMP, none of the others

Lists are read to the end of the frame, whatever number they say they have, as RabbitMQ does; but for those of texts
behind which another field comes.
"""

from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import Any, Final, NamedTuple

from pybroker.wire.stream.codes import VALUED, OffsetType
from pybroker.wire.stream.frame import MalformedFrameError

# The length of octets that are not there.
_NULL_OCTETS: Final = 0xFFFF_FFFF


class Offset(NamedTuple):
    """A place to begin; `value` is an offset, or a time in milliseconds since 1970, by its type."""

    type: OffsetType
    value: int = 0


class Versions(NamedTuple):
    """The versions of one command that a peer knows."""

    key: int
    first: int
    last: int


class FieldReader:
    """Takes fields out of a frame."""

    __slots__ = ("_at", "_buffer", "_stop")

    def __init__(self, buffer: bytes, at: int, stop: int) -> None:
        self._buffer = buffer
        self._at = at
        self._stop = stop

    @property
    def at_end(self) -> bool:
        """Tell whether nothing is left."""
        return self._at >= self._stop

    def skip(self) -> None:
        """Leave out what is left."""
        self._at = self._stop

    def octets(self, octets: int) -> bytes:
        """Return the next octets. Raises MalformedFrameError if the frame ends before."""
        start = self._at
        self._at += octets
        if self._at > self._stop:
            raise MalformedFrameError("the frame ends within a field")
        return self._buffer[start : self._at]

    def number(self, form: Struct) -> int:
        """Return the next number."""
        value: int = form.unpack(self.octets(form.size))[0]
        return value

    def text(self) -> str:
        """Return the next text. Raises UnicodeDecodeError."""
        return self.octets(self.number(_U16)).decode()


_U8, _U16, _U32, _U64, _I16, _I64 = map(Struct, (">B", ">H", ">L", ">Q", ">h", ">q"))


def _number(form: Struct) -> tuple[Callable[[FieldReader], int], Callable[[int], bytes]]:
    return lambda reader: reader.number(form), form.pack


def text_octets(text: str) -> bytes:
    """Return a text as it is written: its length, then UTF-8."""
    octets = text.encode()
    return _U16.pack(len(octets)) + octets


def texts_octets(texts: "Iterable[str]") -> bytes:
    """Return a list of texts as it is written."""
    written = [*map(text_octets, texts)]
    return _U32.pack(len(written)) + b"".join(written)


def pairs_octets(pairs: Mapping[str, str]) -> bytes:
    """Return properties as they are written."""
    return _U32.pack(len(pairs)) + b"".join([text_octets(key) + text_octets(value) for key, value in pairs.items()])


def numbers_octets(numbers: Mapping[str, int]) -> bytes:
    """Return figures as they are written."""
    return _U32.pack(len(numbers)) + b"".join([text_octets(key) + _I64.pack(value) for key, value in numbers.items()])


def versions_octets(known: "Iterable[Versions]") -> bytes:
    """Return versions of commands as they are written."""
    written = [_U16.pack(each.key) + _U16.pack(each.first) + _U16.pack(each.last) for each in known]
    return _U32.pack(len(written)) + b"".join(written)


def texts_of(octets: bytes) -> tuple[str, ...]:
    """Return a list of texts that was written."""
    return _read_texts(FieldReader(octets, 0, len(octets)))


def pairs_of(octets: bytes) -> dict[str, str]:
    """Return properties that were written."""
    return _read_pairs(FieldReader(octets, 0, len(octets)))


def versions_of(octets: bytes) -> tuple[Versions, ...]:
    """Return versions of commands that were written."""
    return _read_versions(FieldReader(octets, 0, len(octets)))


def _read_texts(reader: FieldReader) -> tuple[str, ...]:
    reader.number(_U32)
    found = []
    while not reader.at_end:
        found.append(reader.text())
    return tuple(found)


def _read_pairs(reader: FieldReader) -> dict[str, str]:
    reader.number(_U32)
    found = {}
    while not reader.at_end:
        key = reader.text()
        found[key] = reader.text()
    return found


def _read_more_pairs(reader: FieldReader) -> dict[str, str]:
    """Read properties that older clients leave out."""
    return {} if reader.at_end else _read_pairs(reader)


def _write_more_pairs(pairs: Mapping[str, str]) -> bytes:
    return pairs_octets(pairs) if pairs else b""


def _read_versions(reader: FieldReader) -> tuple[Versions, ...]:
    reader.number(_U32)
    found = []
    while not reader.at_end:
        found.append(Versions(*[reader.number(_U16) for _ in range(3)]))
    return tuple(found)


def _read_octets(reader: FieldReader) -> bytes:
    length = reader.number(_U32)
    return b"" if length == _NULL_OCTETS else reader.octets(length)


def _write_octets(octets: bytes) -> bytes:
    return _U32.pack(len(octets)) + octets if octets else _U32.pack(_NULL_OCTETS)


def _read_counted_texts(reader: FieldReader) -> tuple[str, ...]:
    """Read a list behind which more follows."""
    return tuple(reader.text() for _ in range(reader.number(_U32)))


def _read_resumed(reader: FieldReader) -> Offset | None:
    """Read the place where a consumer goes on; None if the peer does not choose one."""
    if reader.at_end:
        return None
    kind = reader.number(_I16)
    resumed = _offset_of(OffsetType(kind), reader) if kind else None
    if resumed is None or resumed.type not in VALUED:
        # Some clients, such as rstream, send a value with every type; RabbitMQ does not look at it either.
        reader.skip()
    return resumed


def _write_resumed(offset: Offset | None) -> bytes:
    return _I16.pack(0) if offset is None else _write_offset(offset)


def _read_offset(reader: FieldReader) -> Offset:
    return _offset_of(OffsetType(reader.number(_I16)), reader)


def _offset_of(kind: OffsetType, reader: FieldReader) -> Offset:
    if kind is OffsetType.OFFSET:
        return Offset(kind, reader.number(_U64))
    return Offset(kind, reader.number(_I64)) if kind is OffsetType.TIMESTAMP else Offset(kind)


def _write_offset(offset: Offset) -> bytes:
    form = {OffsetType.OFFSET: _U64, OffsetType.TIMESTAMP: _I64}.get(offset.type)
    return _I16.pack(offset.type) + (form.pack(offset.value) if form is not None else b"")


_BYTE: Final = _number(_U8)
_SHORT: Final = _number(_U16)
_LONG: Final = _number(_U32)
_LONGLONG: Final = _number(_U64)
_TEXT: Final = (FieldReader.text, text_octets)
_TEXTS: Final = (_read_texts, texts_octets)
_PAIRS: Final = (_read_pairs, pairs_octets)
_MORE_PAIRS: Final = (_read_more_pairs, _write_more_pairs)
_OCTETS: Final = (_read_octets, _write_octets)
_OFFSET: Final = (_read_offset, _write_offset)
_COUNTED_TEXTS: Final = (_read_counted_texts, texts_octets)
_RESUMED: Final = (_read_resumed, _write_resumed)
_VERSIONS: Final = (_read_versions, versions_octets)

# How a field of each name is read and written.
FORMS: Final[Mapping[str, tuple[Callable[[FieldReader], Any], Callable[[Any], bytes]]]] = {
    "correlation_id": _LONG,
    "publisher_id": _BYTE,
    "subscription_id": _BYTE,
    "reference": _TEXT,
    "stream": _TEXT,
    "streams": _TEXTS,
    "begin": _OFFSET,
    "credit": _SHORT,
    "properties": _MORE_PAIRS,
    "arguments": _PAIRS,
    "peer_properties": _PAIRS,
    "offset": _LONGLONG,
    "mechanism": _TEXT,
    "response": _OCTETS,
    "frame_octets_max": _LONG,
    "heartbeat_s": _LONG,
    "vhost": _TEXT,
    "code": _SHORT,
    "reason": _TEXT,
    "routing_key": _TEXT,
    "super_stream": _TEXT,
    "partitions": _COUNTED_TEXTS,
    "binding_keys": _COUNTED_TEXTS,
    "active": _BYTE,
    "resumed": _RESUMED,
    "versions": _VERSIONS,
}
