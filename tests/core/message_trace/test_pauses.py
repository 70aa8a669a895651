"""A trace tells which messages paused queues withhold or refuse, and by whose order."""

import pytest
from pamqp import commands

from pybroker.core.events.cause import Cause
from pybroker.errors import NoRoute
from tests.core.message_trace.conftest import names, told

OPERATOR = Cause("command pause_queue", "ann")
ORDER = {"paused_by": "ann", "paused_why": "full"}


def pause(world, queue="q", **how):
    world.broker.pauses.pause_queue(world.vhost.queues[queue], "full", OPERATOR, **how)


def resume(world, queue="q"):
    world.broker.pauses.resume_queue(world.vhost.queues[queue], OPERATOR)
    world.run()


def test_what_is_withheld_is_followed_when_it_is_published(world, peer, follow):
    trace = follow(queue="q")
    pause(world, consume=False)
    peer.publish("", "q", b"1")
    world.advance(2_000)
    event = told(trace, "withheld")
    assert ORDER.items() <= event.items()
    assert (event["queue"], event["routing_key"], event["user"], "message" in event) == ("q", "q", "guest", False)
    assert names(trace) == []
    resume(world)
    assert names(trace)[:2] == ["published", "routed"]


def test_a_publish_that_waited_before_is_told_of(world, peer, follow):
    pause(world, consume=False)
    peer.publish("", "q", b"1")
    event = told(follow(queue="q"), "connection_withheld")
    assert ORDER.items() <= event.items()
    assert (event["connection"], event["user"]) == (peer.session.name, "guest")
    assert names(follow(queue="other")) == []
    assert names(follow(exchange="")) == ["connection_withheld"]


def test_what_is_refused_is_settled(world, peer, follow):
    trace = follow(queue="q")
    pause(world, mode="refuse")
    peer.publish("", "q", b"1")
    events = trace.poll(100)
    assert [event["event"] for event in events] == ["published", "pause_refused", "settled", "ended"]
    assert (events[1]["queue"], ORDER.items() <= events[1].items()) == ("q", True)


def test_the_other_queues_get_what_one_refuses(world, peer, follow):
    peer.declare("other")
    for queue in ("q", "other"):
        peer.call(commands.Queue.Bind(queue=queue, exchange="amq.fanout"))
    trace = follow(exchange="amq.fanout")
    pause(world, mode="refuse")
    peer.publish("amq.fanout", "k", b"1")
    assert names(trace) == ["published", "pause_refused", "routed"]
    assert [message.body for message in peer.drain("other")] == [b"1"]


def test_a_waiting_message_tells_by_whose_order(world, peer, follow):
    trace = follow(queue="q")
    peer.publish("", "q", b"1")
    pause(world, publish=False)
    world.advance(2_000)
    assert ORDER.items() <= told(trace, "waiting").items()
    peer.consume("q", "t")
    resume(world)


def outgoing(world, exchange, key):
    return world.vhost.compose(None, OPERATOR, exchange=exchange, routing_key=key, properties={}, headers=[], body=b"1")


def test_so_do_an_operators_publishes(world, peer, follow):
    pause(world, mode="refuse")
    trace = follow(queue="q")
    assert outgoing(world, "", "q").publish(1).rejected == 1
    assert names(trace) == ["published", "pause_refused", "settled", "ended"]


def test_a_key_that_nothing_is_bound_to_is_told_of(world, peer, follow):
    trace = follow(exchange="amq.direct")
    message = outgoing(world, "amq.direct", "nowhere")
    with pytest.raises(NoRoute):
        message.publish(1)
    events = trace.poll(100)
    assert [event["event"] for event in events] == ["published", "unroutable", "settled", "ended"]
    assert events[1]["returned"]
