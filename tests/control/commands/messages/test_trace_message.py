import pytest

from pybroker.control import codec, commands
from pybroker.control.spec import BadArguments, Node, Refused
from pybroker.core.events.cause import BROKER
from pybroker.core.message_trace.hub import TRACES_MAX


def stream(operator, **given):
    """Return the work, begun."""
    command = commands.load("trace_message")
    node = Node(operator.world.broker, operator.daemon, operator.pauses.append, BROKER)
    work = command.run(node, command.parse(given))
    assert next(work) == []
    return work


def test_events_come_with_their_sentences_until_all_have_settled(operator, peer):
    peer.declare("q")
    work = stream(operator, queue="q")
    peer.publish("", "q", message_id="m")
    published, routed = codec.decode(codec.encode(next(work)))
    assert ("published", "routed") == (published["event"], routed["event"])
    assert "published to the default exchange with key 'q' by user 'guest'" in published["text"]
    assert next(work) == []
    peer.get("q")
    rest = [event for batch in work for event in batch]
    assert ["delivered", "settled", "ended"] == [event["event"] for event in rest]
    assert not operator.world.vhost.tracing


def test_time_ends_it(operator, peer):
    peer.declare("q")
    work = stream(operator, queue="q", duration="2s")
    operator.world.clock.advance(2_000)
    assert [["ended"], []] == [[event["event"] for event in batch] for batch in work]


def test_a_caller_that_leaves_ends_it(operator, peer):
    peer.declare("q")
    work = stream(operator, exchange="")
    assert operator.world.vhost.tracing
    work.close()
    assert not operator.world.vhost.tracing


def test_there_are_so_many_and_no_more(operator, peer):
    peer.declare("q")
    works = [stream(operator, queue="q") for _ in range(TRACES_MAX)]
    with pytest.raises(Refused, match="too many traces"):
        stream(operator, queue="q")
    works[0].close()
    stream(operator, queue="q")


def test_whatever_does_not_exist_is_refused(operator):
    for given in ({"queue": "no"}, {"exchange": "no"}, {"queue": "q", "vhost": "no"}):
        with pytest.raises(Refused):
            stream(operator, **given)
    assert not operator.world.vhost.tracing


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "specify --queue, --exchange or --header"),
        ({"header": ["region"]}, "expected HEADER=VALUE"),
        ({"queue": "q", "number": 0}, "--count must be from 1 to 1000"),
        ({"queue": "q", "number": 1_001}, "--count must be from 1 to 1000"),
        ({"queue": "q", "duration": "0s"}, "--duration: expected a duration from 1s to 1d"),
        ({"queue": "q", "duration": "2d"}, "--duration: expected a duration from 1s to 1d"),
    ],
)
def test_arguments_that_cannot_be_are_refused(given, text):
    with pytest.raises(BadArguments, match=text):
        commands.load("trace_message").parse(given)
