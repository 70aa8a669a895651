"""From the publish until the message is in its queues: unroutable, stored, in a transaction, delayed."""

from pamqp import commands

from tests.core.message_trace.conftest import declare_exchange, names, told
from tests.slow import GatheringLog

Confirm, Exchange, Queue, Tx = commands.Confirm, commands.Exchange, commands.Queue, commands.Tx


def test_an_unroutable_message_says_why_and_whether_it_was_returned(peer, follow):
    for mandatory in (False, True):
        trace = follow(exchange="amq.topic")
        peer.publish("amq.topic", "nobody", mandatory=mandatory)
        unroutable = told(trace, "unroutable")
        assert ("amq.topic", "no binding matches", mandatory) == (
            unroutable["exchange"],
            unroutable["why"],
            unroutable["returned"],
        )
        assert trace.over == "count"


def test_it_is_stored_when_the_log_says_so(world, peer, follow):
    log = world.broker.log = GatheringLog()
    peer.declare("kept", durable=True)
    trace = follow(queue="kept")
    peer.publish("", "kept", delivery_mode=2)
    peer.get("kept")
    assert "settled" not in names(trace), "it is not on disk yet"
    world.clock.advance(20)
    position = log.seal()
    world.broker.log_completed(position)
    stored, settled, _ = trace.poll(10)
    assert ("stored", position, 20) == (stored["event"], stored["position"], stored["after_ms"])
    assert settled["event"] == "settled"


def test_a_log_that_fails_is_told(world, peer, follow):
    world.broker.log = GatheringLog()
    peer.declare("kept", durable=True)
    peer.call(Confirm.Select())
    trace = follow(queue="kept")
    peer.publish("", "kept", delivery_mode=2)
    world.broker.log_failed("Input/output error")
    assert told(trace, "not_stored")["why"] == "Input/output error"


def test_a_transaction_is_followed_from_its_publish_over_its_commit(peer, follow):
    peer.call(Tx.Select())
    trace = follow(queue="q")
    peer.publish("", "q")
    assert names(trace) == ["published", "routed"]
    peer.call(Tx.Commit())
    peer.open(2)
    peer.get("q", channel=2)
    assert names(trace) == ["delivered", "settled", "ended"]


def test_a_transaction_that_is_rolled_back_ends_it(peer, follow):
    peer.call(Tx.Select())
    trace = follow(queue="q")
    peer.publish("", "q")
    peer.call(Tx.Rollback())
    assert names(trace) == ["published", "routed", "rolled_back", "settled", "ended"]


def test_a_delayed_message_is_followed_until_it_is_due_and_on(world, peer, follow):
    declare_exchange(peer, "later", "x-delayed-message", **{"x-delayed-type": "topic"})
    peer.call(Queue.Bind(queue="q", exchange="later", routing_key="a.*"))
    trace = follow(exchange="later", count=2)
    peer.publish("later", "a.b", b"1", headers={"x-delay": 500})
    peer.publish("later", "b", b"2", headers={"x-delay": 500})
    assert names(trace) == ["published", "delayed"] * 2
    world.advance(500)
    events = trace.poll(100)
    assert [event["event"] for event in events] == ["due", "routed", "due", "unroutable", "settled"]
    assert [step["key"] for step in events[1]["path"]] == ["a.*"]
    assert {event["after_ms"] for event in events} == {500}
    peer.get("q")
    assert names(trace) == ["delivered", "settled", "ended"]


def test_a_delayed_message_can_be_cancelled_or_go_with_its_exchange(world, peer, follow):
    declare_exchange(peer, "later", "x-delayed-message", **{"x-delayed-type": "fanout"})
    trace = follow(exchange="later", count=2)
    peer.publish("later", "", b"1", headers={"x-delay": 500})
    peer.publish("later", "", b"2", headers={"x-delay": 600})
    schedule = world.vhost.exchanges["later"].schedule
    names(trace)
    schedule.cancel(schedule.first(1, 1_000)[0])
    assert names(trace) == ["cancelled", "settled"]
    peer.call(Exchange.Delete(exchange="later"))
    assert names(trace) == ["deleted", "settled", "ended"]
