"""A browsed message is a view of a run."""

from pybroker.core.queue.browse.browsed import READY, Browsed
from tests.readers import run_of


def test_it_shows_its_message():
    message = Browsed(3, run_of([b"a", b"bc"], 7), 1, 2)
    assert (8, 3, READY, True) == (message.seq, message.priority, message.state, message.redelivered)
    assert (b"bc", 2, None) == (message.body, message.body_octets, message.properties.headers)
    assert "Browsed(seq 8, priority 3, ready, deliveries 2)" == repr(message)
    assert message.names is message.run.names
    assert message.property_octets == b"\0\0"
