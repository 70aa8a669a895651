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


def test_an_unknown_virtual_host_is_refused(operator):
    with pytest.raises(Refused):
        operator.list("list_consumers", vhost="v")
