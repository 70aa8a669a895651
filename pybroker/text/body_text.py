"""Bodies of messages as people and programs read them: text, JSON, hexadecimal, decompressed as far as asked.

A body is what its publisher likes. Pure functions of octets, for the broker, which decodes short ones, and for those
that show long ones.
"""

import codecs
import json
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

# Of a JSON value: deeper ones are shown as text, since each program that reads them has a limit of its own.
DEPTH_MAX: Final = 64
# Names of character sets that are decoded; others, and none that turns octets into octets, are not tried.
CHARSETS: Final = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "iso-8859-1": "latin-1",
    "latin-1": "latin-1",
    "windows-1252": "cp1252",
    "utf-16": "utf-16",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
}
# Text without control characters but those that text has.
_LINES: Final = dict.fromkeys([9, 10, 13])
# Window bits of zlib: for gzip's framing, for zlib's, and for deflate without any, as some call it "deflate" too.
_FRAMINGS: Final = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15), "zlib": (15,)}
# Decompressed at a time.
PIECE_OCTETS: Final = 65_536


class Body(NamedTuple):
    """A body for people and programs: `value` is of any JSON type where `format` is json, else a text.

    `format` is json, text, hex or base64; `is_cut` tells that there is more of it.
    """

    value: Any
    format: str
    is_cut: bool


def decoded(octets: bytes, size: int, content_type: str | None, encoding: str | None, octets_max: int) -> Body:
    """Return the start of a body of this size as its type and encoding say, or, if that fails, in hexadecimal.

    Of a compressed one `octets_max` are shown, however few `octets` that takes.
    """
    is_cut = size > len(octets)
    if encoding and size:
        opened, whole = inflated(octets, encoding, octets_max)
        if opened is not None:
            octets, is_cut = opened, not whole
    kind, charset = _kind(content_type)
    text = None if charset is None else _text(octets, charset, is_cut=is_cut)
    if text is None or not (kind or _is_readable(text)):
        return Body(octets.hex(), "hex", is_cut)
    if not is_cut and (kind == "json" or (not kind and text[:1] in "{[")) and (value := _json(text)) is not None:
        return Body(value[0], "json", is_cut=False)
    return Body(text, "text", is_cut)


@lru_cache(256)
def _kind(content_type: str | None) -> tuple[str, str | None]:
    """Return json, text or nothing, and how its text is encoded; None if it is known to be something else."""
    media, *parameters = (content_type or "").lower().split(";")
    media = media.strip()
    charset = "utf-8"
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            charset = CHARSETS.get(value.strip().strip('"'), "")
    if media.endswith(("/json", "+json")):
        return "json", charset or None
    if media.startswith("text/") or media.endswith(("/xml", "+xml", "/yaml", "/javascript")):
        return "text", charset or None
    return "", charset or None


def _text(octets: bytes, charset: str, *, is_cut: bool) -> str | None:
    """Return octets as text, without half a character at the end if they were cut; None if they are none."""
    try:
        return codecs.getincrementaldecoder(charset)().decode(octets, final=not is_cut)
    except UnicodeError:
        return None


def _is_readable(text: str) -> bool:
    """Tell whether a text of unknown type has no control characters but those of lines."""
    return text.isprintable() or text.translate(_LINES).isprintable()


def _json(text: str) -> tuple[Any] | None:
    """Return the value of a JSON text, if it is one that every program can read again, else None."""
    # Brackets in strings are counted as well: at worst a value is shown as text.
    depth = 0
    for character in text:
        if character in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                return None
        elif character in "]}":
            depth -= 1
    try:
        value = json.loads(text, parse_constant=_refuse)
        # Half characters, as "\ud800", are no text.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return (value,)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def inflated(body: bytes, encoding: str | None, octets_max: int) -> tuple[bytes | None, bool]:
    """Return no more than `octets_max` octets of a compressed body, and whether these are all.

    None if the encoding is unknown, or nothing can be decompressed. Octets before damage are returned, as not all.
    """
    for bits in _FRAMINGS.get((encoding or "").strip().lower(), ()):
        inflater = zlib.decompressobj(bits)
        try:
            # A body that was cut off yields what is there.
            octets = inflater.decompress(body, octets_max) if octets_max else b""
        except zlib.error:
            continue
        return octets, inflater.eof and not inflater.unconsumed_tail
    return None, False


def inflated_pieces(pieces: Callable[[], Iterator[bytes]], encoding: str | None, octets_max: int) -> Iterator[bytes]:
    """Yield the same in pieces, up to damage, of a body that comes in pieces each time that `pieces` is called."""
    for bits in _FRAMINGS.get((encoding or "").strip().lower(), ()):
        inflater = zlib.decompressobj(bits)
        left = octets_max
        try:
            for piece in pieces():
                rest = piece
                while left and (octets := inflater.decompress(rest, min(left, PIECE_OCTETS))):
                    left -= len(octets)
                    rest = inflater.unconsumed_tail
                    yield octets
                if not left or inflater.eof:
                    return
        except zlib.error:
            if left < octets_max:
                return
            continue
        return
