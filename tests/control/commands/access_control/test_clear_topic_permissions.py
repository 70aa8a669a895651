import pytest

from pybroker.control.commands.access_control.clear_topic_permissions import Args, banner
from pybroker.control.spec import Refused


@pytest.fixture
def restrictions(operator):
    for exchange in ("a", "b"):
        operator.ask("set_topic_permissions", username="guest", exchange=exchange, write="x", read="y")
    return operator.world.broker.users.get("guest").topic_permissions


def test_at_one_exchange(operator, restrictions):
    assert operator.ask("clear_topic_permissions", username="guest", exchange="a") is None
    assert list(restrictions) == [("/", "b")]


def test_at_all_of_a_virtual_host(operator, restrictions):
    operator.ask("clear_topic_permissions", username="guest")
    assert restrictions == {}


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("clear_topic_permissions", username="x")
    assert refused.value.exit_code == 67


def test_the_banner_names_the_exchange_if_there_is_one():
    assert banner(Args("u")) == 'Clearing topic permissions for user "{username}" in vhost "{vhost}" ...'
    expected = 'Clearing topic permissions on "{exchange}" for user "{username}" in vhost "{vhost}" ...'
    assert banner(Args("u", "x")) == expected
