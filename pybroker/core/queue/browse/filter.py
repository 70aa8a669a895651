"""Filter: which messages of a queue are wanted, by a header, by text, or by age."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pybroker.content_view import body_parts, body_size, first_property_flags, property_octets
from pybroker.text.body_text import inflated_pieces
from pybroker.wire.properties import decode_properties, find_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pybroker.core.queue.browse.browsed import Browsed

# Searched of a compressed body.
SEARCHED_OCTETS: Final = 1_048_576
# A content that is shorter has no more than one body frame: nobody negotiates smaller ones (AMQP §4.2.3).
ONE_FRAME_OCTETS: Final = 4_096
# Searched in one step.
STEP_OCTETS: Final = 131_072
# Of the property content-encoding, in the first octet.
ENCODING_FLAG: Final = 1 << 6


class Filter:
    """All that a message must have: each header with its value, a text, an arrival before a time.

    Values are compared as people write them: 5, true, text. The text may be in the body, which is decompressed if its
    encoding says so, or in a property, the exchange's name or the routing key; upper and lower case differ.
    `arrived_before_ms` is of the clock that runs know.
    """

    __slots__ = ("_arrived_before_ms", "_headers", "_keys", "_text", "_text_octets")

    def __init__(
        self, headers: "Iterable[tuple[str, str]]" = (), text: str = "", arrived_before_ms: int | None = None
    ) -> None:
        self._headers = tuple(headers)
        # A message without the key is passed over before anything is decoded.
        self._keys = [_octets(name) for name, _ in self._headers]
        self._text = text
        self._text_octets = _octets(text)
        self._arrived_before_ms = arrived_before_ms

    def matches(self, message: "Browsed", pause: "Callable[[float], object] | None" = None) -> bool:
        """Tell whether a message has it all; `pause` is called between two steps, if its body takes several."""
        before_ms = self._arrived_before_ms
        if before_ms is not None and message.run.arrived_ms >= before_ms:
            return False
        return (not self._headers or self._has_headers(message)) and (not self._text or self._has_text(message, pause))

    def _has_headers(self, message: "Browsed") -> bool:
        octets = message.property_octets
        table = find_headers(octets)
        if table is None or any(key not in table for key in self._keys):
            return False
        headers = decode_properties(octets).headers
        return headers is not None and all(
            name in headers and as_text(headers[name]) == value for name, value in self._headers
        )

    def _has_text(self, message: "Browsed", pause: "Callable[[float], object] | None") -> bool:
        names, wanted, content = message.names, self._text_octets, message.content
        if self._text in names.exchange or self._text in names.routing_key or wanted in property_octets(content):
            return True
        is_encoded = first_property_flags(content) & ENCODING_FLAG
        if len(content) < ONE_FRAME_OCTETS and not is_encoded and wanted not in content:
            return False

        def pieces() -> "Iterator[bytes]":
            for piece in body_parts(content, body_size(content), STEP_OCTETS):
                yield piece
                if pause is not None:
                    pause(0)

        if _is_in(wanted, pieces()):
            return True
        if not is_encoded:
            return False
        inflated = inflated_pieces(pieces, message.properties.content_encoding, SEARCHED_OCTETS)
        return _is_in(wanted, inflated, pause)


def _is_in(wanted: bytes, pieces: "Iterable[bytes]", pause: "Callable[[float], object] | None" = None) -> bool:
    """Tell whether octets are in others that come in pieces, also across their ends."""
    kept = b""
    for piece in pieces:
        searched = kept + piece
        if wanted in searched:
            return True
        kept = searched[max(0, len(searched) - len(wanted) + 1) :]
        if pause is not None:
            pause(0)
    return False


def as_text(value: Any) -> str:
    """Return a header's value as people write it."""
    match value:
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.decode(errors="surrogateescape")
        case datetime():
            return value.isoformat()
        case None:
            return ""
        case _:
            return str(value)


def _octets(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
