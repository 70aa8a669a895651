import pytest

from pybroker.control.spec import Refused


def test_a_paused_consumer_continues(operator, peer):
    peer.declare("q")
    peer.consume("q", "a", no_ack=True)
    operator.ask("pause_consumer", consumer_tag="a", why="slow")
    peer.publish("", "q", b"x")
    assert operator.ask("resume_consumer", consumer_tag="a") == "Consumer 'a' of queue 'q' was resumed"
    assert peer.bodies() == [b"x"]
    with pytest.raises(Refused, match="consumer 'a' of queue 'q' is not paused"):
        operator.ask("resume_consumer", consumer_tag="a")
