"""Compression of answers for clients that take it."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from werkzeug.wrappers import Request, Response

# Smaller answers are sent as they are.
COMPRESSED_MIN: Final = 1_024
LEVEL: Final = 1


def compress(request: Request, response: Response) -> Response:
    """Return the response, compressed if that is worth it and the client takes gzip."""
    octets = response.get_data()
    if len(octets) >= COMPRESSED_MIN and request.accept_encodings.quality("gzip"):
        response.set_data(gzip(octets))
        response.content_encoding = "gzip"
    response.vary.add("Accept-Encoding")
    return response


def compress_parts(request: Request, response: Response) -> Response:
    """Return a response that has no end yet, compressed part by part if the client takes gzip."""
    if request.accept_encodings.quality("gzip"):
        response.response = _gzip_parts(response.iter_encoded())
        response.content_encoding = "gzip"
    response.vary.add("Accept-Encoding")
    return response


def _gzip_parts(parts: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, 31)
    for octets in parts:
        yield compressor.compress(octets)
    yield compressor.flush()


def gzip(octets: bytes) -> bytes:
    """Return them compressed."""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, 31)
    return compressor.compress(octets) + compressor.flush()
