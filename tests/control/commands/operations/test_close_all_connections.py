import pytest

from pybroker.control.commands.operations.close_all_connections import Args, banner
from pybroker.control.spec import Refused


@pytest.fixture
def peers(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("set_permissions", username="guest", vhost="v", configure=".*", write=".*", read=".*")
    return [operator.world.connect(), operator.world.connect(), operator.world.connect(vhost="v")]


def closed(peers):
    return [bool(peer.take(0)) for peer in peers]


def test_those_of_one_virtual_host(operator, peers):
    assert operator.ask("close_all_connections", reason="bye") == "Closed 2 connections"
    assert closed(peers) == [True, True, False]


def test_those_of_all(operator, peers):
    operator.world.peer()  # has not spoken yet: nobody to say goodbye to
    assert operator.ask("close_all_connections", reason="bye", everywhere=True) == "Closed 3 connections"
    assert closed(peers) == [True, True, True]


def test_no_more_than_the_limit_with_a_pause_between(operator, peers):
    answer = operator.ask("close_all_connections", reason="bye", everywhere=True, limit=2, delay_ms=50)
    assert answer == "Closed 2 connections"
    assert closed(peers) == [True, True, False]
    assert operator.pauses == [0.05, 0.05]
    assert operator.steps == [(1, 2), (2, 2)]


@pytest.mark.parametrize("given", [{"limit": -1}, {"delay_ms": -1}, {"vhost": "x"}])
def test_what_cannot_be_is_refused(operator, given):
    with pytest.raises(Refused) as refused:
        operator.ask("close_all_connections", reason="bye", **given)
    assert refused.value.exit_code == 65


def test_the_banner_says_whose():
    assert banner(Args("bye")) == "Closing all connections in vhost {vhost}, reason: {reason}..."
    assert banner(Args("bye", limit=3)) == "Closing {limit} connections in vhost {vhost}, reason: {reason}..."
    everywhere = "Closing all connections to node {node} (across all vhosts), reason: {reason}..."
    assert banner(Args("bye", everywhere=True)) == everywhere
