import pytest

from pybroker.control.spec import BadArguments
from pybroker.humanize import utc

COLUMNS = ("consumer_tag", "active", "activity_status", "paused_by", "paused_since", "paused_why")


def test_a_listing_says_who_paused_a_consumer_since_when_and_why(world, operator, peer):
    peer.declare("q")
    for tag in ("a", "b"):
        peer.consume("q", tag)
    told = operator.ask("pause_consumer", consumer_tag="a", why="slow")
    now = utc(world.clock.timestamp_ms)
    assert told == (
        "Consumer 'a' of queue 'q' is paused until it is resumed, or its client subscribes again or reconnects"
    )
    assert operator.list("list_consumers", *COLUMNS) == [
        ["a", False, "paused", "rmq-internal", now, "slow"],
        ["b", True, "up", "", "", ""],
    ]
    peer.publish("", "q")
    assert [m.method.consumer_tag for m in peer.take()] == ["b"]


def test_a_second_order_says_which_one_it_replaces(world, operator, peer):
    peer.declare("q")
    peer.consume("q", "a")
    operator.ask("pause_consumer", consumer_tag="a", why="slow")
    first = utc(world.clock.timestamp_ms)
    world.advance(60_000)
    told = operator.ask("pause_consumer", consumer_tag="a", why="wrong")
    assert told.endswith(f"It was paused for consumers by rmq-internal at {first}, because: slow")


def test_a_reason_is_required(operator, peer):
    peer.declare("q")
    peer.consume("q", "a")
    with pytest.raises(BadArguments):
        operator.ask("pause_consumer", consumer_tag="a")
