import pytest

from pybroker.core.message_trace.guard import Guard
from pybroker.core.message_trace.trace import MessageTrace
from tests.core.message_trace.conftest import names


@pytest.mark.parametrize("method", ["published", "routed", "entered", "delivered", "answered", "check"])
def test_a_bug_in_a_trace_ends_it_and_nothing_else(world, peer, follow, monkeypatch, caplog, method):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(MessageTrace, method, fail)
    trace = follow(queue="q")
    peer.publish("", "q", b"body")
    assert peer.get("q", no_ack=False).body == b"body"
    peer.disconnect()
    world.advance(1_000)
    monkeypatch.undo()
    assert trace.over == "bug"
    assert not world.vhost.tracing
    assert names(trace) == ["ended"]
    assert world.vhost.queues["q"].messages_ready == 1
    assert not world.broker.log.failed
    assert "internal error in a trace" in caplog.text


def test_what_is_no_fault_goes_through(follow):
    trace = follow(queue="q")
    with pytest.raises(KeyboardInterrupt), Guard(trace):
        raise KeyboardInterrupt
    with Guard(trace):
        pass
    assert not trace.over
