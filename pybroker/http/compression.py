"""Compression of answers for clients that take it."""

import zlib
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


def gzip(octets: bytes) -> bytes:
    """Return them compressed."""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, 31)
    return compressor.compress(octets) + compressor.flush()
