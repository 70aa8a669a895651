import pytest

from pybroker.control.arguments.lookup import (
    find_queue,
    find_user,
    find_vhost,
)
from pybroker.control.spec import Refused


def test_what_exists_is_found(world, peer):
    peer.declare("q")
    vhost = find_vhost(world.broker, "/")
    assert vhost is world.vhost
    assert find_queue(vhost, "q") is vhost.queues["q"]
    assert find_user(world.broker, "guest").name == "guest"


def test_what_does_not_exist_is_refused_in_one_form_and_with_one_code(world):
    refusals = []
    for find in (
        lambda: find_vhost(world.broker, "x"),
        lambda: find_queue(world.vhost, "x"),
        lambda: find_user(world.broker, "x"),
    ):
        with pytest.raises(Refused) as refused:
            find()
        refusals.append((refused.value.exit_code, refused.value.text))
    assert refusals == [
        (65, "Virtual host 'x' does not exist"),
        (65, "queue 'x' was not found in virtual host '/'"),
        (67, 'User "x" does not exist'),
    ]
