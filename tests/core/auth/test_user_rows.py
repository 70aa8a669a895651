import pytest

from pybroker.core.auth.password import SHA256, hash_password
from pybroker.core.broker import Broker
from tests.core.kept import KeptDefinitions, new_broker


@pytest.fixture
def broker() -> Broker:
    return new_broker()


@pytest.fixture
def kept(broker) -> KeptDefinitions:
    return broker.definitions


def test_what_is_changed_of_a_user_is_kept(broker, kept):
    users = broker.users
    users.add("u", "first", ("x",))
    first = kept.value("user", "u")
    users.set_hashed("u", hash_password("second"), SHA256)
    users.set_tags("u", ("y", "z"))
    users.set_limits("u", {"max-channels": 5})
    second = kept.value("user", "u")
    assert first["password_hash"] != second["password_hash"]
    assert ["y", "z"] == second["tags"]
    assert ({}, {"max-channels": 5}) == (first["limits"], second["limits"])
    users.set_permissions("u", "/", "c", "w", "r")
    users.set_topic_permissions("u", "/", "x", "w", "r")
    users.set_topic_permissions("u", "/", "y", "w", "r")
    assert {"configure": "c", "write": "w", "read": "r"} == kept.value("permission", "u", "/")
    assert {"write": "w", "read": "r"} == kept.value("topic_permission", "u", "/", "x")
    users.clear_topic_permissions("u", "/", "x")
    assert [("u", "/", "y")] == kept.keys("topic_permission")
    users.clear_permissions("u", "/")
    users.set_permissions("u", "/", "c", "w", "r")
    users.delete("u")
    assert new_broker().definitions.texts.keys() == kept.texts.keys()
