import pytest
from pamqp import commands

from pybroker.control.spec import BadArguments, Refused


@pytest.fixture
def queue(world, peer):
    peer.declare("q", arguments={"x-retry-delays": "1h"})
    for body in (b"1", b"2", b"3"):
        peer.publish("", "q", body)
        peer.send(commands.Basic.Nack(peer.get("q", no_ack=False).method.delivery_tag, requeue=True))
        world.advance(1_000)
    return world.vhost.queues["q"]


def test_all_are_due_now(world, operator, queue):
    assert queue.messages_delayed == 3
    answer = operator.ask("retry_delayed", queue="q")
    world.advance(1_000)
    assert (answer["messages"], answer["message"]) == (3, "3 delayed messages of queue 'q' are due now")
    assert (queue.messages_ready, queue.messages_delayed) == (3, 0)


def test_those_that_are_due_next_are_first(world, operator, peer, queue):
    assert operator.ask("retry_delayed", queue="q", number=1)["message"] == "1 delayed message of queue 'q' is due now"
    world.advance(1_000)
    assert [message.body for message in peer.drain("q")] == [b"1"]
    assert queue.messages_delayed == 2


def test_a_queue_without_any_has_none(operator, peer):
    peer.declare("q")
    assert operator.ask("retry_delayed", queue="q")["message"] == "0 delayed messages of queue 'q' are due now"


def test_what_cannot_be_is_refused(operator):
    with pytest.raises(BadArguments):
        operator.ask("retry_delayed", queue="q", number=0)
    with pytest.raises(Refused, match="queue 'q' was not found"):
        operator.ask("retry_delayed", queue="q")


def test_one_that_cannot_be_read_does_not_hold_it_up_for_ever(operator, queue, monkeypatch):
    monkeypatch.setattr(type(queue.delayed), "retry", lambda _waiting, _most: 0)
    assert operator.ask("retry_delayed", queue="q")["messages"] == 0


def test_nothing_of_a_stream_waits_for_a_retry(operator, peer):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    with pytest.raises(Refused, match="queue 's' is a stream: none of its messages waits for a retry"):
        operator.ask("retry_delayed", queue="s")
