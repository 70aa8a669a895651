import pytest

from pybroker.control.spec import Refused


def test_it_has_exchanges_and_nobodys_permissions(operator):
    assert operator.ask("add_vhost", vhost_name="v") is None
    assert len(operator.list("list_exchanges", vhost="v")) == 7
    assert "v" not in operator.world.broker.users.get("guest").permissions


def test_one_that_exists_stays_as_it_is(operator, peer):
    peer.declare("q")
    assert operator.ask("add_vhost", vhost_name="/") is None
    assert operator.list("list_queues", "name") == ["q"]


def test_one_without_a_name_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("add_vhost", vhost_name="")
    assert refused.value.exit_code == 65
