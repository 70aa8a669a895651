import pytest

from pybroker.control.spec import BadArguments, Refused
from pybroker.humanize import utc

COLUMNS = ("paused", "paused_mode", "paused_by", "paused_since", "paused_since_ms", "paused_why")


def test_a_listing_says_who_paused_a_queue_since_when_and_why(world, operator, peer):
    peer.declare("q", durable=True)
    assert operator.list("list_queues", *COLUMNS) == [["", "", "", "", "", ""]]
    answer = operator.ask("pause_queue", queue="q", why="migration")
    now_ms = world.clock.timestamp_ms
    assert operator.list("list_queues", *COLUMNS) == [
        ["publish,consume", "withhold", "rmq-internal", utc(now_ms), now_ms, "migration"]
    ]
    assert answer == {
        "result": "ok",
        "node": "pybroker@vm",
        "queue": "q",
        "vhost": "/",
        "paused": "publish,consume",
        "mode": "withhold",
        "why": "migration",
        "message": "Queue 'q' in vhost '/' is paused for publishers and consumers until it is resumed",
    }


@pytest.mark.parametrize(
    ("given", "paused", "mode"),
    [
        ({"publish": True}, "publish", "withhold"),
        ({"consume": True}, "consume", ""),
        ({"publish": True, "consume": True}, "publish,consume", "withhold"),
        ({"mode": "refuse"}, "publish,consume", "refuse"),
    ],
)
def test_either_side_can_be_paused_alone(operator, peer, given, paused, mode):
    peer.declare("q")
    told = operator.ask("pause_queue", queue="q", why="w", **given)["message"]
    assert told.endswith("until it is resumed, or the node restarts: it is not durable")
    assert operator.list("list_queues", "paused", "paused_mode") == [[paused, mode]]


@pytest.mark.parametrize("given", [{}, {"why": " "}, {"why": "w", "consume": True, "mode": "refuse"}])
def test_a_reason_is_required_and_a_mode_without_effect_is_refused(operator, peer, given):
    peer.declare("q")
    with pytest.raises(BadArguments):
        operator.ask("pause_queue", queue="q", **given)


def test_a_second_order_says_which_one_it_replaces(world, operator, peer):
    peer.declare("q", durable=True)
    operator.ask("pause_queue", queue="q", why="migration", consume=True)
    first = utc(world.clock.timestamp_ms)
    world.advance(60_000)
    answer = operator.ask("pause_queue", queue="q", why="too full", publish=True)
    assert answer["message"] == (
        "Queue 'q' in vhost '/' is paused for publishers and consumers until it is resumed. "
        f"It was paused for consumers by rmq-internal at {first}, because: migration"
    )
    assert answer["replaced"] == {
        "paused": "consume",
        "mode": "",
        "paused_by": "rmq-internal",
        "paused_since": first,
        "why": "migration",
    }


def test_without_publishers_no_mode_is_told(operator, peer):
    peer.declare("q")
    assert operator.ask("pause_queue", queue="q", why="w", consume=True)["mode"] == ""


def test_why_blocked_explains_who_waits_for_it(world, operator, peer):
    peer.declare("q")
    operator.ask("pause_queue", queue="q", why="migration", publish=True)
    world.advance(180_000)
    peer.publish("", "q")
    world.advance(1_000)
    found = operator.ask("why_blocked")
    (connection,) = found["connections"]
    (cause,) = connection["causes"]
    assert found["message"] == "1 connection is blocked or throttled."
    assert (connection["state"], cause["cause"], cause["now"]) == ("blocked", "pause", True)
    assert cause["message"] == "has been throttled for 1.0 s by the pause of queue 'q' in vhost '/'"
    assert cause["why"] == (
        "rmq-internal paused queue 'q' in vhost '/' 3 min 1 s ago: migration; this connection published to it, and "
        "whatever else the connection sends waits behind that publish"
    )
    assert cause["advice"] == "pybrokerctl resume_queue 'q' --publish -p '/'"


def test_an_unknown_queue_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("pause_queue", queue="q", why="w")
    assert (refused.value.exit_code, refused.value.text) == (65, "queue 'q' was not found in virtual host '/'")
