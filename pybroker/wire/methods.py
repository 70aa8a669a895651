"""Methods (AMQP §4.2.4): octets <-> pamqp's method objects.

pamqp has the methods and their fields. The octets are read and written here, after `validate`: pamqp's own decoder
copies the rest of the frame for each value, guesses at milliseconds and remembers no types; its encoder refuses names
that RabbitMQ accepts. Does not know what a method does.
"""

from typing import Any, Final, TypeVar

from pamqp import base, commands

from pybroker.wire.frame import METHOD, frame
from pybroker.wire.table import Table, encode_table, read_fields
from pybroker.wire.validate import guard_method

_INTS: Final = {"octet": 1, "short": 2, "long": 4, "longlong": 8, "timestamp": 8}
_ZEROES: Final = {"bit": False, "shortstr": "", "longstr": ""}

_Method = TypeVar("_Method", bound=base.Frame)


def _fields(method: type[base.Frame]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (type, names) of a method's arguments; the bits that share an octet are one of them."""
    fields: list[tuple[str, tuple[str, ...]]] = []
    for name in method.attributes():
        kind = method.amqp_type(name)
        if kind == "bit" and fields and fields[-1][0] == "bit" and len(fields[-1][1]) < 8:
            fields[-1] = ("bit", (*fields[-1][1], name))
        else:
            fields.append((kind, (name,)))
    return tuple(fields)


_FIELDS: Final = {index: _fields(method) for index, method in commands.INDEX_MAPPING.items()}


def _blank(kind: type[_Method]) -> _Method:
    """Return a method without arguments yet, and without pamqp's checks."""
    return kind.__new__(kind)


def make_method(kind: type[_Method], **values: Any) -> _Method:
    """Return a method with `values`; the others are zero, empty or False.

    pamqp's constructors refuse what RabbitMQ accepts: exchange names above 127 characters or with `!` in them.
    """
    method: _Method = _blank(kind)
    for name in kind.attributes():
        value = values.pop(name, None)
        if value is None:
            amqp_type = kind.amqp_type(name)
            value = Table() if amqp_type == "table" else _ZEROES.get(amqp_type, 0)
        setattr(method, name, value)
    assert not values, f"{kind.name} has no {', '.join(values)}"
    return method


def decode_method(payload: bytes) -> base.Frame:
    """Return the method in a method frame's payload. Its tables are `Table`s.

    Longstrs (e.g. a SASL response) are str; octets that are not UTF-8 are kept as surrogate escapes.

    Raises FrameError (501), ProtocolSyntaxError (502), CommandInvalid (503), MethodNotImplemented (540).
    """
    guard_method(payload)
    index = int.from_bytes(payload[:4])
    kind = commands.INDEX_MAPPING[index]
    method: base.Frame = _blank(kind)
    position = 4
    for amqp_type, names in _FIELDS[index]:
        value: Any
        if amqp_type == "shortstr":
            start = position + 1
            position = start + payload[position]
            value = payload[start:position].decode()
        elif amqp_type == "bit":
            for bit, name in enumerate(names):
                setattr(method, name, payload[position] >> bit & 1 == 1)
            position += 1
            continue
        elif amqp_type == "table":
            start = position + 4
            position = start + int.from_bytes(payload[position:start])
            value = read_fields(payload, start, position)
        elif amqp_type == "longstr":
            start = position + 4
            position = start + int.from_bytes(payload[position:start])
            value = payload[start:position].decode(errors="surrogateescape")
        else:
            start = position
            position += _INTS[amqp_type]
            value = int.from_bytes(payload[start:position])
        setattr(method, names[0], value)
    return method


def encode_method(channel: int, method: base.Frame) -> bytes:
    """Return the octets of a whole method frame, with frame-end.

    Raises ValueError where an argument does not fit its type; that is our own fault, so there is no reply code.
    """
    parts = [method.index.to_bytes(4)]
    for amqp_type, names in _FIELDS[method.index]:
        value = getattr(method, names[0])
        if amqp_type == "shortstr":
            octets = (value or "").encode()
            if len(octets) > 255:
                raise ValueError(f"{method.name}: {names[0]} has {len(octets)} octets, 255 are allowed")
            parts.append(len(octets).to_bytes(1) + octets)
        elif amqp_type == "bit":
            bits = sum(bool(getattr(method, name)) << bit for bit, name in enumerate(names))
            parts.append(bits.to_bytes(1))
        elif amqp_type == "table":
            parts.append(encode_table(value or {}))
        elif amqp_type == "longstr":
            octets = value if isinstance(value, bytes) else (value or "").encode(errors="surrogateescape")
            parts.append(len(octets).to_bytes(4) + octets)
        else:
            try:
                parts.append((value or 0).to_bytes(_INTS[amqp_type]))
            except OverflowError:
                most = (1 << 8 * _INTS[amqp_type]) - 1
                raise ValueError(f"{method.name}: {names[0]} is {value}, not 0 to {most}") from None
    return frame(METHOD, channel, b"".join(parts))
