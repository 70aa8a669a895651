"""Users and what they may do."""

from base64 import b64decode

from pybroker.control.objects.access import PERMISSIONS, TOPIC_PERMISSIONS, USERS
from tests.control.objects.conftest import facts


def test_a_hash_is_as_in_definitions(world):
    assert b64decode(facts(world, USERS, "password_hash")[0]) == world.broker.users.get("guest").password_hash


def test_permissions_tell_their_virtual_hosts(world):
    users = world.broker.users
    users.set_topic_permissions("guest", "/", "amq.topic", "w", "r")
    users.set_permissions("guest", "gone", "", "", "")
    assert facts(world, PERMISSIONS, "vhost") == ["/"]
    assert facts(world, TOPIC_PERMISSIONS, "exchange") == ["amq.topic"]
