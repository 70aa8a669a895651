"""Compression of answers."""

import gzip

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request, Response

from pybroker.http.compression import COMPRESSED_MIN, compress


@pytest.mark.parametrize(
    ("octets", "accepted", "compressed"),
    [
        (COMPRESSED_MIN, "gzip", True),
        (COMPRESSED_MIN, "br, gzip;q=0.5", True),
        (COMPRESSED_MIN, "gzip;q=0", False),
        (COMPRESSED_MIN, "", False),
        (COMPRESSED_MIN - 1, "gzip", False),
    ],
)
def test_long_answers_are_compressed_if_the_client_likes(octets, accepted, compressed):
    request = Request(EnvironBuilder(headers={"Accept-Encoding": accepted}).get_environ())
    response = compress(request, Response(b"x" * octets))
    assert (response.content_encoding == "gzip") == compressed
    assert (gzip.decompress(response.data) if compressed else response.data) == b"x" * octets
    assert "Accept-Encoding" in response.vary
