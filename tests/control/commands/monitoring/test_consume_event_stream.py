import pytest

from pybroker.control import codec, commands
from pybroker.control.spec import BadArguments, Node
from pybroker.core.events.cause import BROKER


def stream(operator, **given):
    """Return the work, begun."""
    command = commands.load("consume_event_stream")
    work = command.run(
        Node(operator.world.broker, operator.daemon, operator.pauses.append, BROKER), command.parse(given)
    )
    assert next(work) == []
    return work


def test_events_have_a_name_a_time_and_the_facts_of_the_event_exchange(operator, peer):
    work = stream(operator)
    peer.declare("q", {"x-max-length": 5})
    (event,) = codec.decode(codec.encode(next(work)))
    assert ("queue.created", "q", "/") == (event["event"], event["name"], event["vhost"])
    assert operator.world.clock.timestamp_ms == event["timestamp_in_ms"]
    assert "guest" == event["user_who_performed_action"]


def test_a_pattern_chooses_by_name(operator):
    work = stream(operator, pattern="^vhost[.]")
    operator.ask("add_user", username="u", password="p")
    operator.ask("add_vhost", vhost_name="v")
    assert ["vhost.created"] == [event["event"] for event in next(work)]


def test_nobody_is_told_any_more_when_the_reader_is_gone(operator):
    events = operator.world.broker.events
    work = stream(operator)
    assert events.heard
    work.close()
    assert not events.heard


def test_what_is_no_pattern_is_refused():
    with pytest.raises(BadArguments, match="not a regular expression"):
        commands.load("consume_event_stream").parse({"pattern": "("})
