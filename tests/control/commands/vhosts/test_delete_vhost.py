import pytest

from pybroker.control.spec import Refused


def test_it_goes_with_its_queues_and_connections(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("set_permissions", username="guest", vhost="v", configure=".*", write=".*", read=".*")
    peer, other = operator.world.connect(vhost="v"), operator.world.connect()
    peer.declare("q")
    assert operator.ask("delete_vhost", vhost_name="v") is None
    close = peer.next(0)
    assert (close.reply_code, close.reply_text) == (320, "CONNECTION_FORCED - vhost 'v' is deleted")
    assert other.take(0) == []
    assert operator.list("list_vhosts") == ["/"]
    assert list(operator.world.broker.users.get("guest").permissions) == ["/"]


def test_an_unknown_one_is_refused_with_the_nearest_name(operator):
    operator.ask("add_vhost", vhost_name="production")
    with pytest.raises(Refused) as refused:
        operator.ask("delete_vhost", vhost_name="prodution")
    expected = "Virtual host 'prodution' does not exist. Did you mean 'production'?"
    assert (refused.value.exit_code, refused.value.text) == (65, expected)
