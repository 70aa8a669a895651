"""The address that clients are told."""

import pytest

from pybroker.stream.advertised import advertised
from pybroker.tls_facts import TlsFacts
from tests.fakes import World
from tests.stream_peer import StreamPeer

TLS = TlsFacts("tlsv1.3", "any", "aes_256_gcm", "aead", b"")


@pytest.mark.parametrize(
    ("settings", "plain", "encrypted"),
    [
        ({}, ("10.0.0.1", 9), ("10.0.0.1", 9)),
        ({"stream_advertised_host": "a"}, ("a", 9), ("a", 9)),
        ({"stream_advertised_port": 7}, ("10.0.0.1", 7), ("10.0.0.1", 9)),
        ({"stream_advertised_tls_host": "b", "stream_advertised_tls_port": 8}, ("10.0.0.1", 9), ("b", 8)),
    ],
)
def test_it_is_configured_or_the_one_that_was_reached(settings, plain, encrypted):
    world = World(**settings)
    found = [advertised(StreamPeer(world, local=("10.0.0.1", 9), tls=tls).session) for tls in (None, TLS)]
    assert [plain, encrypted] == found
