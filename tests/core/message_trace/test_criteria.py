"""Which messages a trace follows."""

from tests.core.message_trace.conftest import names


def test_all_criteria_must_hold(peer, follow):
    peer.declare("other")
    trace = follow(count=9, queue="q", exchange="", headers=(("region", "eu"),))
    peer.publish("", "q", headers={"region": "us"})
    peer.publish("", "q", headers={"regions": "eu"})
    peer.publish("", "other", headers={"region": "eu"})
    peer.publish("", "q")
    assert names(trace) == []
    peer.publish("", "q", headers={"region": "eu"})
    assert names(trace) == ["published", "routed"]


def test_all_headers_must_be_there(peer, follow):
    trace = follow(count=9, headers=(("region", "eu"), ("paid", "true")))
    peer.publish("", "q", headers={"region": "eu"})
    peer.publish("", "q", headers={"region": "eu", "paid": False})
    assert names(trace) == []
    peer.publish("", "q", headers={"region": "eu", "paid": True})
    assert names(trace) == ["published", "routed"]


def test_values_read_as_people_write_them(peer, follow):
    trace = follow(count=9, headers=(("paid", "true"),))
    peer.publish("", "q", headers={"paid": 1})
    assert names(trace) == []
    peer.publish("", "q", headers={"paid": True})
    assert names(trace) == ["published", "routed"]
