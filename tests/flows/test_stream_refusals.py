"""Streams as clients declare them, and all that they refuse. The texts are those of RabbitMQ 3.10.8."""

import pytest
from pamqp import commands

from pybroker.core.events.cause import BROKER
from tests.fakes import Basic, Queue
from tests.flows.pausing import CONSUME, PUBLISH, pause, resume

STREAM = {"x-queue-type": "stream"}
NAMED = "queue 's' in vhost '/'"
WRONG = '{invalid_stream_offset_arg,{longstr,<<"1x">>}}'


@pytest.fixture
def stream(world, peer):
    peer.declare("s", durable=True, arguments=STREAM)
    for number in range(3):
        peer.publish("", "s", b"%d" % number)
    return world.vhost.queues["s"]


def refusal(world, *methods):
    """Return what a new connection is closed with, or its channel, at the last of these methods."""
    peer = world.connect()
    for method in methods[:-1]:
        peer.call(method)
    return peer.error(methods[-1])


def declare(**more):
    return Queue.Declare(**{"queue": "s", "durable": True, "arguments": STREAM, **more})


def consume(**more):
    return Basic.Consume(**{"queue": "s", **more})


def test_a_stream_is_declared_and_counts_its_messages(world, peer, stream):
    answer = peer.declare("s", durable=True, arguments=STREAM)
    assert (answer.message_count, stream.type, world.vhost.queues["s"].durable) == (3, "stream", True)


@pytest.mark.parametrize(
    ("properties", "what"),
    [
        ({"durable": False}, "non-durable"),
        ({"exclusive": True}, "exclusive-owner"),
        ({"auto_delete": True}, "auto-delete"),
        ({"exclusive": True, "auto_delete": True, "durable": False}, "auto-delete"),
    ],
)
def test_a_stream_is_durable_and_belongs_to_nobody(world, properties, what):
    text = f"PRECONDITION_FAILED - invalid property '{what}' for {NAMED}"
    assert refusal(world, declare(**properties)) == (406, text)


def test_a_stream_has_a_name(world):
    text = "PRECONDITION_FAILED - Cannot declare a server-named queue for type rabbit_stream_queue"
    assert refusal(world, declare(queue="")) == (406, text)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"x-max-age": "1x"}, f"invalid arg 'x-max-age' for {NAMED}: invalid_max_age"),
        ({"x-max-length": 5}, f"invalid arg 'x-max-length' for {NAMED} of queue type rabbit_stream_queue"),
        (
            {"x-stream-max-segment-size-bytes": 3_000_000_001},
            "Exceeded max value for x-stream-max-segment-size-bytes",
        ),
        ({"x-stream-filter-size-bytes": 8}, "Invalid value for  x-stream-filter-size-bytes"),
    ],
)
def test_arguments_of_a_stream_are_checked(world, arguments, text):
    assert refusal(world, declare(arguments=STREAM | arguments)) == (406, f"PRECONDITION_FAILED - {text}")


@pytest.mark.parametrize(
    ("arguments", "key", "received", "current"),
    [
        ({}, "x-queue-type", "none", "the value 'stream' of type 'longstr'"),
        ({"x-queue-type": "quorum"}, "x-queue-type", "'quorum'", "'stream'"),
        (
            {**STREAM, "x-queue-leader-locator": "balanced", "x-max-age": "5h", "x-max-length-bytes": 5},
            "x-max-length-bytes",
            "the value '5' of type 'byte'",
            "none",
        ),
        ({**STREAM, "x-initial-cluster-size": 1}, "x-initial-cluster-size", "the value '1' of type 'byte'", "none"),
    ],
)
def test_a_redeclaration_has_the_same_arguments(world, stream, arguments, key, received, current):
    code, text = refusal(world, declare(arguments=arguments))
    expected = f"inequivalent arg '{key}' for {NAMED}: received {received} but current is {current}"
    assert (code, text) == (406, f"PRECONDITION_FAILED - {expected}")


def test_the_filter_size_of_a_redeclaration_is_not_compared(peer, stream):
    peer.declare("s", durable=True, arguments={**STREAM, "x-stream-filter-size-bytes": 16})


@pytest.mark.parametrize("no_ack", [False, True])
def test_nobody_gets_a_single_message(world, stream, no_ack):
    text = f"NOT_IMPLEMENTED - basic.get not supported by stream queues {NAMED}"
    assert refusal(world, Basic.Get(queue="s", no_ack=no_ack)) == (540, text)


def test_a_stream_is_not_purged(world, stream):
    text = f"NOT_IMPLEMENTED - queue.purge not supported by stream queues {NAMED}"
    assert refusal(world, Queue.Purge(queue="s")) == (540, text)
    assert stream.messages == 3


@pytest.mark.parametrize(
    ("qos", "options", "code", "text"),
    [
        ([], {}, 406, f"PRECONDITION_FAILED - consumer prefetch count is not set for '{NAMED}'"),
        ([], {"no_ack": True}, 406, f"PRECONDITION_FAILED - consumer prefetch count is not set for '{NAMED}'"),
        (
            [{"prefetch_count": 5, "global_": True}],
            {},
            406,
            f"PRECONDITION_FAILED - consumer prefetch count is not set for '{NAMED}'",
        ),
        (
            [{"prefetch_count": 5}],
            {"no_ack": True},
            540,
            f"NOT_IMPLEMENTED - automatic acknowledgement not supported by stream queues {NAMED}",
        ),
        (
            [{"prefetch_count": 5}, {"prefetch_count": 5, "global_": True}],
            {},
            540,
            f"NOT_IMPLEMENTED - {NAMED} does not support global qos",
        ),
        (
            [{"prefetch_count": 5}],
            {"arguments": {"x-stream-offset": "1x"}},
            406,
            f"PRECONDITION_FAILED - invalid arg 'x-stream-offset' for {NAMED}: {WRONG}",
        ),
        (
            [],
            {"arguments": {"x-priority": 5}},
            406,
            f"PRECONDITION_FAILED - invalid arg 'x-priority' for {NAMED} of queue type rabbit_stream_queue",
        ),
    ],
)
def test_a_consumer_acknowledges_and_has_a_prefetch(world, stream, qos, options, code, text):
    assert refusal(world, *[Basic.Qos(**each) for each in qos], consume(**options)) == (code, text)


def test_a_global_prefetch_may_follow(peer, stream):
    peer.call(Basic.Qos(prefetch_count=5))
    peer.consume("s", arguments={"x-stream-offset": "first"})
    assert peer.bodies() == [b"0", b"1", b"2"]
    peer.call(Basic.Qos(prefetch_count=4, global_=True))
    peer.publish("", "s", b"3")
    assert peer.bodies() == [b"3"]


def test_an_exclusive_consumer_is_not_alone(world, peer, stream):
    other = world.connect()
    for each in (peer, other):
        each.call(Basic.Qos(prefetch_count=5))
        each.consume("s", exclusive=True, arguments={"x-stream-offset": "first"})
        assert each.bodies() == [b"0", b"1", b"2"]


def test_a_stream_is_deleted_under_conditions_as_any_queue(world, peer, stream):
    assert refusal(world, Queue.Delete(queue="s", if_empty=True)) == (406, f"PRECONDITION_FAILED - {NAMED} not empty")
    peer.call(Basic.Qos(prefetch_count=5))
    peer.consume("s")
    assert refusal(world, Queue.Delete(queue="s", if_unused=True)) == (406, f"PRECONDITION_FAILED - {NAMED} in use")
    assert isinstance(peer.call(Queue.Delete(queue="s")), commands.Queue.DeleteOk | commands.Basic.Cancel)


def test_dead_letters_arrive_in_a_stream(world, peer, stream):
    peer.declare("q", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "s"})
    peer.publish("", "q", b"dead")
    peer.send(Basic.Reject(delivery_tag=peer.get("q", no_ack=False).method.delivery_tag, requeue=False))
    world.run()
    peer.call(Basic.Qos(prefetch_count=5))
    peer.consume("s", arguments={"x-stream-offset": 3})
    (found,) = peer.take()
    assert (found.body, found.headers["x-first-death-reason"]) == (b"dead", "rejected")


def test_a_vhosts_default_type_may_be_stream(world, peer):
    world.vhost.default_queue_type = "stream"
    peer.declare("d", durable=True)
    peer.declare("t", exclusive=True)
    assert {name: queue.type for name, queue in world.vhost.queues.items()} == {"d": "stream", "t": "classic"}


def test_a_policy_counts_instead_of_arguments_at_once(world, peer):
    peer.declare("s", durable=True, arguments={**STREAM, "x-max-length-bytes": 1_000, "x-max-age": "1h"})
    stream = world.vhost.queues["s"]
    value = {"pattern": "^s$", "definition": {"max-length-bytes": 2_000}, "priority": 0, "apply-to": "streams"}
    world.broker.parameters.set("/", "policy", "p", value, BROKER)
    assert (stream.limits.octets_max, stream.limits.age_max_ms, stream.applied.policy) == (2_000, 3_600_000, "p")


@pytest.mark.parametrize("what", [PUBLISH, CONSUME])
def test_a_stream_is_paused_and_resumed(world, peer, stream, what):
    peer.call(Basic.Qos(prefetch_count=5))
    peer.consume("s")
    pause(world, "s", **what)
    peer.publish("", "s", b"later")
    world.run()
    assert peer.bodies() == []
    resume(world, "s")
    assert peer.bodies() == [b"later"]
