import pytest

from pybroker.control.arguments.queue_choice import find_queues
from pybroker.control.commands.checks.check_queue_age import Args
from pybroker.control.spec import BadArguments, Refused


@pytest.fixture
def broker(world, peer):
    for name in ("orders", "other"):
        peer.declare(name)
    world.broker.add_vhost("v")
    return world.broker


def names(broker, **given):
    return [queue.name for queue in find_queues(broker, Args(**given))]


def test_queues_are_chosen_by_virtual_host_and_name(broker):
    assert names(broker) == ["orders", "other"]
    assert names(broker, pattern="^oth") == ["other"]
    assert names(broker, vhost="v") == []
    assert names(broker, vhost="v", all_vhosts=True) == ["orders", "other"]


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"pattern": "("}, BadArguments, "Bad argument: --pattern: "),
        ({"pattern": "^none"}, Refused, r"no queue matches '\^none'"),
        ({"vhost": "nosuch"}, Refused, "Virtual host 'nosuch' does not exist"),
    ],
)
def test_a_choice_that_is_none_is_refused(broker, given, error, text):
    with pytest.raises(error, match=text) as caught:
        find_queues(broker, Args(**given))
    assert caught.value.exit_code == 65
