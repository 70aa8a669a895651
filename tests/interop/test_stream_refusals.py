"""Methods, flags and arguments that a stream refuses, with RabbitMQ's codes and texts, and those that it takes.

RabbitMQ 3.10.8 ends a connection with 541 where an argument has a type or a form that it did not expect.
"""

import itertools

import pytest
from pamqp import commands

from tests.interop.stream_client import Stream

NUMBERS = itertools.count()
CLOSES = (commands.Channel.Close, commands.Connection.Close)
OF_TYPE = "invalid arg '{}' for queue 'refused' in vhost '/' of queue type rabbit_stream_queue"
CHANNEL, CONNECTION = "channel", "connection"


@pytest.fixture(scope="module")
def stream(broker):
    stream = Stream(broker, "refusing")
    stream.number(range(3))
    yield stream
    stream.delete()


def refusal(broker, *methods):
    """Return what the last of these methods is refused with: what is closed, code and text without the name."""
    with broker.peer() as peer:
        for method in methods[:-1]:
            peer.send(method)
            peer.read_method()
        peer.send(methods[-1])
        method = peer.read_method()
        if not isinstance(method, CLOSES):
            return None
        closed = CHANNEL if isinstance(method, commands.Channel.Close) else CONNECTION
        return closed, method.reply_code, method.reply_text.partition(" - ")[2]


def qos(count=10, **options):
    return commands.Basic.Qos(prefetch_count=count, **options)


STREAM = "queue 'refusing' in vhost '/'"
NO_PREFETCH = (CHANNEL, 406, f"consumer prefetch count is not set for '{STREAM}'")


@pytest.mark.parametrize(
    ("methods", "answer"),
    [
        ([commands.Basic.Get(queue="refusing")], f"basic.get not supported by stream queues {STREAM}"),
        ([commands.Basic.Get(queue="refusing", no_ack=True)], f"basic.get not supported by stream queues {STREAM}"),
        ([commands.Queue.Purge(queue="refusing")], f"queue.purge not supported by stream queues {STREAM}"),
        (
            [qos(), commands.Basic.Consume(queue="refusing", no_ack=True)],
            f"automatic acknowledgement not supported by stream queues {STREAM}",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_methods_that_streams_do_not_have(stream, methods, answer):
    methods = [type(method)(**dict(method)) for method in methods]
    assert refusal(stream.broker, *methods) == (CONNECTION, 540, answer)


@pytest.mark.parametrize(
    "first", [[], [qos(0)], [qos(10, global_=True)]], ids=["no qos", "prefetch of 0", "global prefetch"]
)
def test_a_reader_needs_a_prefetch_count(stream, first):
    assert refusal(stream.broker, *first, commands.Basic.Consume(queue="refusing")) == NO_PREFETCH


OFFSET = "invalid arg 'x-stream-offset' for %s: {invalid_stream_offset_arg,{longstr,<<\"%s\">>}}"


@pytest.mark.parametrize("text", ["0s", "1H", "10", "1h30m"])
def test_an_offset_that_is_no_offset(stream, text):
    consume = commands.Basic.Consume(queue="refusing", arguments={"x-stream-offset": text})
    assert refusal(stream.broker, qos(), consume) == (CHANNEL, 406, OFFSET % (STREAM, text))


@pytest.mark.parametrize("value", ["", "foo", "-1h", 1.5, True, None, [1], {"a": 1}], ids=repr)
def test_an_offset_of_another_type_or_form(stream, value):
    """It ends the connection in RabbitMQ, and the channel here."""
    consume = commands.Basic.Consume(queue="refusing", arguments={"x-stream-offset": value})
    refused = refusal(stream.broker, qos(), consume)
    assert refused is not None
    if stream.broker.is_ours:
        assert refused[:2] == (CHANNEL, 406)
        assert refused[2].startswith(f"invalid arg 'x-stream-offset' for {STREAM}: ")
    else:
        assert refused[:2] == (CONNECTION, 541)


@pytest.mark.parametrize("name", ["x-priority", "x-cancel-on-ha-failover"])
def test_arguments_of_consumers_that_streams_do_not_have(stream, name):
    consume = commands.Basic.Consume(queue="refusing", arguments={name: 1})
    text = f"invalid arg '{name}' for {STREAM} of queue type rabbit_stream_queue"
    assert refusal(stream.broker, qos(), consume) == (CHANNEL, 406, text)


@pytest.mark.parametrize("options", [{"arguments": {"x-else": 1}}, {"no_local": True}, {"exclusive": True}], ids=str)
def test_what_a_reader_may_say_without_effect(stream, options):
    """No stream belongs to one reader: RabbitMQ takes the flag `exclusive` and lets others read as well."""
    arguments = {"x-stream-offset": "first", **options.get("arguments", {})}
    with stream.reader("first") as first, stream.broker.peer() as peer:
        peer.call(qos(), commands.Basic.QosOk)
        consume = commands.Basic.Consume(**{"queue": "refusing", **options, "arguments": arguments})
        peer.call(consume, commands.Basic.ConsumeOk)
        assert [peer.read_delivery().body for _ in range(3)] == [b"0", b"1", b"2"]
        assert first.offsets(3) == [0, 1, 2]


def declare(arguments=None, **options):
    options = {"queue": "refused", "durable": True, **options}
    return commands.Queue.Declare(arguments={"x-queue-type": "stream", **(arguments or {})}, **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"durable": False}, "invalid property 'non-durable' for queue 'refused' in vhost '/'"),
        ({"exclusive": True}, "invalid property 'exclusive-owner' for queue 'refused' in vhost '/'"),
        ({"auto_delete": True}, "invalid property 'auto-delete' for queue 'refused' in vhost '/'"),
        ({"queue": ""}, "Cannot declare a server-named queue for type rabbit_stream_queue"),
    ],
    ids=str,
)
def test_flags_that_no_stream_is_declared_with(broker, options, text):
    assert refusal(broker, declare(**options)) == (CHANNEL, 406, text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-max-length", 5),
        ("x-message-ttl", 5),
        ("x-expires", 5),
        ("x-dead-letter-exchange", ""),
        ("x-dead-letter-routing-key", "q"),
        ("x-overflow", "drop-head"),
        ("x-max-priority", 4),
        ("x-single-active-consumer", True),
        ("x-queue-mode", "lazy"),
        ("x-max-in-memory-length", 3),
        ("x-delivery-limit", 3),
        ("x-queue-master-locator", "min-masters"),
        ("x-quorum-initial-group-size", 1),
    ],
)
def test_arguments_that_streams_do_not_have(broker, name, value):
    assert refusal(broker, declare({name: value})) == (CHANNEL, 406, OF_TYPE.format(name))


INVALID = "invalid arg '{}' for queue 'refused' in vhost '/': {}"
SEGMENT = "x-stream-max-segment-size-bytes"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("x-max-age", "1", "invalid_max_age"),
        ("x-max-age", "1x", "invalid_max_age"),
        ("x-max-age", "0s", "invalid_max_age"),
        ("x-max-age", "1h30m", "invalid_max_age"),
        (SEGMENT, -1, "{value_negative,-1}"),
        (SEGMENT, "a", '"expected integer, got longstr"'),
        ("x-max-length-bytes", -1, "{value_negative,-1}"),
        ("x-max-length-bytes", "a", '"expected integer, got longstr"'),
        ("x-queue-leader-locator", "a", "invalid_queue_locator_arg"),
        ("x-initial-cluster-size", 0, "{value_zero,0}"),
        ("x-initial-cluster-size", -1, "{value_negative,-1}"),
        ("x-initial-cluster-size", "a", '"expected integer, got longstr"'),
    ],
)
def test_values_that_no_argument_has(broker, name, value, text):
    assert refusal(broker, declare({name: value})) == (CHANNEL, 406, INVALID.format(name, text))


def test_segments_have_a_largest_size(broker):
    refused = refusal(broker, declare({SEGMENT: 5_000_000_000}))
    assert refused == (CHANNEL, 406, f"Exceeded max value for {SEGMENT}")


@pytest.mark.parametrize("value", ["h", "-1s", ""])
def test_an_age_without_a_number(broker, value):
    """It ends the connection in RabbitMQ, and the channel here."""
    refused = refusal(broker, declare({"x-max-age": value}))
    if broker.is_ours:
        assert refused == (CHANNEL, 406, INVALID.format("x-max-age", "invalid_max_age"))
    else:
        assert refused[:2] == (CONNECTION, 541)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-max-age", "1s"),
        ("x-max-age", "7D"),
        ("x-max-length-bytes", 0),
        ("x-max-length-bytes", 500),
        (SEGMENT, 1_000),
        (SEGMENT, 3_000_000_000),
        ("x-stream-filter-size-bytes", 16),
        ("x-initial-cluster-size", 3),
        ("x-queue-leader-locator", "balanced"),
        ("x-queue-leader-locator", "client-local"),
        ("x-else", 1),
    ],
)
def test_arguments_that_a_stream_is_declared_with(broker, name, value):
    stream = Stream(broker, f"declared-{next(NUMBERS)}", **{name: value})
    assert (stream.declare().queue, stream.declare().message_count) == (stream.name, 0)
    stream.number(range(2))
    with stream.reader("first") as reader:
        assert reader.offsets(2) == [0, 1]
    stream.delete()


OTHERWISE = "inequivalent arg '%s' for queue 'refusing' in vhost '/': received %s but current is %s"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, OTHERWISE % ("x-queue-type", "none", "the value 'stream' of type 'longstr'")),
        (
            {"x-queue-type": "stream", "x-max-age": "1h"},
            OTHERWISE % ("x-max-age", "the value '1h' of type 'longstr'", "none"),
        ),
    ],
    ids=["a classic queue", "another age"],
)
def test_a_stream_declared_otherwise(stream, arguments, text):
    again = commands.Queue.Declare(queue="refusing", durable=True, arguments=arguments)
    assert refusal(stream.broker, again) == (CHANNEL, 406, text)
