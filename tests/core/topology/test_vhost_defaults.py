"""Defaults that a new virtual host gets from the configuration, by its name."""

from tests.core.kept import again, new_broker

LIMITS = {"b": {"pattern": "^t", "max_queues": 5, "max_connections": 7}, "c": {"pattern": "team", "max_queues": 9}}


def limits_of(broker, vhost):
    return broker.parameters.of(vhost, "vhost-limits").get("limits")


def test_of_limits_the_first_that_fit_are_given():
    broker = new_broker(default_limits=LIMITS)
    for name in ("team", "a team", "other"):
        broker.add_vhost(name)
    assert {"max-queues": 5, "max-connections": 7} == limits_of(broker, "team")
    assert {"max-queues": 9} == limits_of(broker, "a team")
    assert None is limits_of(broker, "other") is limits_of(broker, "/")


def test_without_a_pattern_they_are_for_all_and_without_a_limit_for_none():
    broker = new_broker(default_limits={"a": {"pattern": "^free"}, "b": {"max_queues": 1}})
    broker.add_vhost("free")
    assert (None, {"max-queues": 1}) == (limits_of(broker, "free"), limits_of(broker, "/"))


def test_they_are_given_once():
    broker = new_broker(default_limits={"a": {"max_queues": 1}})
    broker.parameters.set("/", "vhost-limits", "limits", {"max-queues": 2})
    broker.add_vhost("/")
    assert {"max-queues": 2} == limits_of(broker, "/") == limits_of(again(broker), "/")


POLICIES = {
    "p": {"vhost_pattern": "^t", "queue_pattern": "^q", "max_length": 3, "message_ttl": 60_000},
    "all": {"expires": 5},
}


def policies_of(broker, vhost):
    return {policy.name: policy.definition for policy in broker.policies.of(vhost, "operator_policy")}


def test_all_operator_policies_that_fit_are_given():
    broker = new_broker(default_policies=POLICIES)
    broker.add_vhost("team")
    for each in (broker, again(broker)):
        assert {"p": {"max-length": 3, "message-ttl": 60_000}, "all": {"expires": 5}} == policies_of(each, "team")
        assert {"all": {"expires": 5}} == policies_of(each, "/")


def test_an_operator_policy_is_for_the_queues_that_its_pattern_fits():
    broker = new_broker(default_policies={"p": POLICIES["p"]})
    broker.add_vhost("team")
    vhost = broker.vhosts["team"]
    (policy,) = broker.policies.of("team", "operator_policy")
    assert (True, False) == (policy.matches("classic", "q1"), policy.matches("classic", "other"))
    assert vhost.exchanges["amq.direct"].applied.operator is None


USERS = {
    "ops": {"vhost_pattern": "^t", "password": "secret", "tags": ("monitoring",), "configure": "", "read": "^r"},
    "nobody": {"vhost_pattern": "^t"},
}


def permissions_of(broker, user, vhost):
    found = broker.users.named(user).permissions.get(vhost)
    return None if found is None else tuple(map(found.text, ("configure", "write", "read")))


def test_users_are_made_with_permissions():
    broker = new_broker(default_users=USERS)
    assert broker.users.get("ops") is None
    broker.add_vhost("team")
    for each in (broker, again(broker)):
        user = each.users.authenticate("ops", "secret")
        assert (("monitoring",), ("", ".*", "^r")) == (user.tags, permissions_of(each, "ops", "team"))
        assert each.users.named("nobody").password_hash == b""


def test_a_user_who_is_there_only_gets_permissions():
    broker = new_broker(default_users=USERS)
    broker.users.add("ops", "own", ("management",))
    broker.add_vhost("team")
    assert broker.users.authenticate("ops", "own").tags == ("management",)
    assert ("", ".*", "^r") == permissions_of(broker, "ops", "team")


def test_the_default_user_may_be_one_of_them():
    broker = new_broker(default_users={"guest": {"password": "other", "write": "^w"}})
    assert broker.users.authenticate("guest", "guest") is None
    assert broker.users.authenticate("guest", "other") is not None
    assert (".*", "^w", ".*") == permissions_of(broker, "guest", "/")
