import pytest

from pybroker.daemon.config import KEYS
from pybroker.daemon.rabbitmq_keys import REASONS, find_reason


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("ssl_options.verify", "no TLS yet"),
        ("listeners.ssl.default", "no TLS yet"),
        ("cluster_formation.peer_discovery_backend", "no clustering yet"),
        ("management.tcp.port", "plugin"),
        ("num_acceptors.tcp", "one loop accepts"),
        ("num_acceptors.ssl", "no TLS yet"),
        ("log.file.rotation.size", "SIGHUP reopens"),
        ("tcp_listen_options.nodelay", "only tcp_listen_options.backlog"),
    ],
)
def test_a_key_of_rabbitmq_has_a_reason(key, words):
    assert words in find_reason(key)


def test_other_keys_have_none():
    assert find_reason("listner.tcp.default") is None


def test_no_key_is_both_taken_and_refused():
    assert set(KEYS) & set(REASONS) == set()
