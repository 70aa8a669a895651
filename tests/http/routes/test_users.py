"""Users and what they may do, in RabbitMQ's shape."""

import pytest


@pytest.fixture
def granted(api, ann, world):
    world.broker.users.set_topic_permissions("ann", "other", "amq.topic", "w", "r")
    return api


def test_one_user(api, ann):
    document = api.get("/api/users/ann")
    assert document.keys() == {"hashing_algorithm", "limits", "name", "password_hash", "tags"}
    assert (document["name"], document["tags"], document["limits"]) == ("ann", ["management"], {})
    assert document in api.get("/api/users")


def test_those_who_may_enter_nothing(api, ann):
    assert [each["name"] for each in api.get("/api/users/without-permissions")] == [
        "monitoring",
        "none",
        "policymaker",
    ]


def test_permissions(granted):
    document = {"configure": ".*", "read": ".*", "user": "ann", "vhost": "other", "write": ".*"}
    assert granted.get("/api/permissions/other/ann") == document
    assert granted.get("/api/users/ann/permissions") == [document]
    assert [each["user"] for each in granted.get("/api/permissions")] == ["guest", "ann"]


def test_topic_permissions(granted):
    document = {"exchange": "amq.topic", "read": "r", "user": "ann", "vhost": "other", "write": "w"}
    assert granted.get("/api/topic-permissions/other/ann/amq.topic") == document
    for path in ("topic-permissions", "topic-permissions/other/ann", "users/ann/topic-permissions"):
        assert granted.get(f"/api/{path}") == [document]


def test_who_one_is(api, ann):
    assert api.get("/api/whoami", "ann") == {"name": "ann", "tags": ["management"], "is_internal_user": True}


@pytest.mark.parametrize(
    "path",
    [
        *("users/nobody", "users/nobody/permissions", "users/nobody/topic-permissions", "permissions/other/nobody"),
        *("permissions/none/ann", "topic-permissions/other/nobody", "topic-permissions/other/ann/amq.fanout"),
    ],
)
def test_what_is_not_there(granted, path):
    granted.get(f"/api/{path}", status=404)


def test_limits(granted, world):
    users = world.broker.users
    users.set_limits("ann", {"max-channels": 10})
    users.set_limits("monitoring", {"max-connections": 1})
    ours = {"user": "ann", "value": {"max-channels": 10}}
    assert granted.get("/api/user-limits/ann") == [ours]
    assert len(granted.get("/api/user-limits")) == 2
    assert granted.get("/api/user-limits", "ann") == [ours]


def test_hashes(granted, world):
    found = granted.get("/api/auth/hash_password/secret")["ok"]
    assert found
    assert granted.get("/api/auth/hash_password/secret", "ann", status=401)["reason"] == "Not administrator user"
