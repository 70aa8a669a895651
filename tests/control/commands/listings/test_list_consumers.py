import pytest
from pamqp import commands

from pybroker.control.spec import Refused


def test_all_but_the_activity_status_by_default(operator, peer):
    peer.declare("q")
    peer.call(commands.Basic.Qos(prefetch_count=5))
    peer.consume("q", "tag", arguments={"x-priority": 3})
    pid = peer.session.pid.replace(".0>", ".1>")
    assert operator.list("list_consumers") == [["q", pid, "tag", True, 5, True, [["x-priority", "byte", 3]]]]


def test_behind_a_single_active_consumer_the_others_wait(operator, peer):
    peer.declare("q", {"x-single-active-consumer": True})
    peer.consume("q", "a")
    peer.consume("q", "b", no_ack=True)
    columns = ("consumer_tag", "ack_required", "active", "activity_status")
    assert operator.list("list_consumers", *columns) == [
        ["a", True, True, "single_active"],
        ["b", False, False, "waiting"],
    ]


def test_elsewhere_every_consumer_is_up(operator, peer):
    peer.declare("q")
    peer.consume("q")
    assert operator.list("list_consumers", "activity_status") == ["up"]


@pytest.mark.parametrize("single", [True, False])
def test_consumers_of_a_paused_queue_are_paused(operator, peer, single):
    peer.declare("q", {"x-single-active-consumer": single})
    peer.consume("q", "a")
    columns = ("active", "activity_status", "paused", "paused_by", "paused_why")
    before = operator.list("list_consumers", *columns)
    assert before == [[True, "single_active" if single else "up", "", "", ""]]
    operator.ask("pause_queue", queue="q", why="w", publish=True)
    assert operator.list("list_consumers", *columns) == before
    operator.ask("pause_queue", queue="q", why="w", consume=True)
    assert operator.list("list_consumers", *columns) == [[False, "paused", "queue", "rmq-internal", "w"]]
    operator.ask("pause_consumer", consumer_tag="a", why="mine")
    assert operator.list("list_consumers", "paused", "paused_why") == [["consumer", "mine"]]
    operator.ask("resume_consumer", consumer_tag="a")
    operator.ask("resume_queue", queue="q")
    assert operator.list("list_consumers", *columns) == before


def test_an_unknown_virtual_host_is_refused(operator):
    with pytest.raises(Refused):
        operator.list("list_consumers", vhost="v")


def test_consumers_of_a_stream_have_an_offset(operator, peer):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    for body in (b"a", b"b", b"c"):
        peer.publish("", "s", body)
    peer.call(commands.Basic.Qos(prefetch_count=1))
    peer.consume("s", tag="t", arguments={"x-stream-offset": 1})
    assert peer.bodies() == [b"b"]
    peer.declare("q")
    peer.consume("q", tag="u")
    found = operator.list("list_consumers", "consumer_tag", "next_offset", "lag")
    assert found == [["t", 2, 1], ["u", "", ""]]
