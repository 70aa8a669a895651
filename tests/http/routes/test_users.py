"""Users and what they may do, in RabbitMQ's shape."""

import pytest

from tests.http.conftest import DONE, MADE, NOT_FOUND, bad


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


# -- made, changed, deleted -------------------------------------------------------------------------------------------

HASH = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"
ALL = {"configure": ".*", "write": ".*", "read": ".*"}


def test_a_user_is_made_and_replaced(api, world):
    assert api.send("PUT", "/api/users/bob", {"password": "bob", "tags": "management, x"}) == MADE
    assert api.get("/api/whoami", "bob")["tags"] == ["management", "x"]
    assert api.send("PUT", "/api/users/bob", {"password_hash": HASH, "tags": ["x"]}) == DONE
    assert api.get("/api/whoami", "bob", status=401)["error"] == "not_authorized"
    document = api.get("/api/users/bob")
    assert (document["password_hash"], document["tags"]) == (HASH, ["x"])
    assert api.send("PUT", "/api/users/bob", {"tags": ""}) == DONE
    assert world.broker.users.get("bob").password_hash == b""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"password": "p"}, "tags_not_present"),
        ({"password": "p", "password_hash": HASH, "tags": ""}, "both_password_and_password_hash_are_provided"),
        ({"password": 5, "tags": ""}, "password is not a text"),
        ({"tags": 5}, "tags are neither a list of texts nor one text"),
        ({"password_hash": "abc", "tags": ""}, "Could not Base64 decode provided password hash value"),
    ],
)
def test_bad_users(api, world, body, reason):
    assert api.send("PUT", "/api/users/bob", body) == bad(reason)
    assert world.broker.users.get("bob") is None


def test_tags_count_at_once(api, ann):
    # RabbitMQ's advisory CVE-2026-67420: tags outlived their change.
    assert api.get("/api/users", ann, status=401)["reason"] == "Not administrator user"
    assert api.send("PUT", "/api/users/ann", {"password": "ann", "tags": "administrator"}) == DONE
    assert api.request("GET", "/api/users", ann).status_code == 200
    assert api.send("PUT", "/api/users/ann", {"password": "ann", "tags": "management"}) == DONE
    assert api.get("/api/users", ann, status=401)["reason"] == "Not administrator user"


def test_users_are_deleted(api, world):
    for name in "abc":
        world.broker.users.add(name, name)
    assert api.send("DELETE", "/api/users/a") == DONE
    assert api.send("DELETE", "/api/users/a") == NOT_FOUND
    assert api.send("POST", "/api/users/bulk-delete", {"users": ["b", "no"]}) == bad(["no_such_user", "no"])
    assert world.broker.users.get("b") is not None
    assert api.send("POST", "/api/users/bulk-delete", {"users": ["b", "c", "b"]}) == DONE
    assert [user.name for user in world.broker.users] == ["guest"]
    assert api.send("POST", "/api/users/bulk-delete", {}) == bad("[{key_missing,users}]")
    assert api.send("POST", "/api/users/bulk-delete", {"users": "b"}) == bad("users is not a list of names")


def test_many_users_are_deleted_as_one_is(api, node, world):
    # RabbitMQ's advisory CVE-2026-66078: in bulk it deleted users that it protects.
    world.broker.users.add("b", "b")
    node.asked.clear()
    api.send("POST", "/api/users/bulk-delete", {"users": ["b"]})
    assert node.asked[-1] == "delete_user"


def test_permissions_are_set_and_cleared(api, ann):
    path = "/api/permissions/%2F/ann"
    assert api.send("PUT", path, {**ALL, "read": "^q"}) == MADE
    assert api.send("PUT", path, ALL) == DONE
    assert api.get(path) == {"user": "ann", "vhost": "/", **ALL}
    assert api.send("DELETE", path) == DONE
    assert api.send("DELETE", path) == NOT_FOUND
    nobody = bad("vhost_or_user_not_found")
    assert api.send("PUT", "/api/permissions/none/ann", ALL) == nobody
    assert api.send("PUT", "/api/permissions/%2F/nobody", ALL) == nobody
    assert api.send("PUT", path, {"configure": ""}) == bad("[{key_missing,write},{key_missing,read}]")
    assert api.send("PUT", path, {**ALL, "read": 5}) == bad("read is not a text")
    assert "not a regular expression" in api.send("PUT", path, {**ALL, "read": "*"})[1]["reason"]


def test_topic_permissions_are_set_and_cleared(api, ann):
    path, what = "/api/topic-permissions/%2F/ann", {"exchange": "amq.topic", "write": "^a", "read": ""}
    assert api.send("PUT", path, what) == MADE
    assert api.send("PUT", f"{path}/e", {"write": "", "read": ""}) == DONE
    assert [each["exchange"] for each in api.get(path)] == ["amq.topic", "e"]
    assert api.send("DELETE", f"{path}/e") == DONE
    assert api.get(path) == [{"user": "ann", "vhost": "/", **what}]
    assert api.send("DELETE", path) == DONE
    assert api.send("DELETE", path) == NOT_FOUND
    assert api.send("PUT", path, {"write": "", "read": ""}) == bad("[{key_missing,exchange}]")
    assert api.send("PUT", "/api/topic-permissions/%2F/nobody", what) == bad("vhost_or_user_not_found")


def test_limits_are_set_and_cleared(api, ann, world):
    path = "/api/user-limits/ann"
    assert api.send("PUT", f"{path}/max-channels", {"value": 5}) == DONE
    assert api.send("PUT", f"{path}/max-connections", {"value": 6}) == DONE
    assert world.broker.users.get("ann").limits == {"max-channels": 5, "max-connections": 6}
    assert api.send("DELETE", f"{path}/max-channels") == DONE
    assert world.broker.users.get("ann").limits == {"max-connections": 6}
    assert api.send("PUT", f"{path}/odd", {"value": 5}) == bad('Unrecognised terms [{<<"odd">>,5}] in user-limits')
    assert api.send("PUT", "/api/user-limits/no/max-channels", {"value": 5}) == bad(["no_such_user", "no"])
    assert api.send("PUT", f"{path}/max-channels", {}) == bad("[{key_missing,value}]")


@pytest.mark.parametrize("user", ["ann", "monitoring", "policymaker"])
def test_only_administrators_change_users(api, ann, user):
    expected = (401, {"error": "not_authorised", "reason": "Not administrator user"})
    own = f"/api/users/{user}"
    assert api.send("PUT", own, {"password": "x", "tags": "administrator"}, user) == expected
    assert api.send("DELETE", own, None, user) == expected
    assert api.send("PUT", f"/api/permissions/%2F/{user}", ALL, user) == expected
    assert api.send("DELETE", f"/api/topic-permissions/other/{user}", None, user) == expected
    assert api.send("DELETE", f"/api/user-limits/{user}/max-channels", None, user) == expected


def test_a_cookie_alone_changes_nothing(api):
    # A page of another site could have a browser send it.
    login = api.request("POST", "/api/pybroker/session", None, json={"username": "guest", "password": "guest"})
    token = login.get_json()["csrf_token"]
    body = {"password": "x", "tags": "administrator"}
    assert api.send("PUT", "/api/users/eve", body, None)[0] == 403
    assert api.send("PUT", "/api/users/eve", body, None, headers={"X-CSRF-Token": "x"})[0] == 403
    assert api.send("PUT", "/api/users/eve", body, None, headers={"X-CSRF-Token": token}) == MADE
    cross = {"X-CSRF-Token": token, "Sec-Fetch-Site": "cross-site"}
    assert api.send("DELETE", "/api/users/eve", None, None, headers=cross)[0] == 403
