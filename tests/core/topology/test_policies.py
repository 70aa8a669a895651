"""Policies reach everything at once, or in shares where that is very much; they outlive a restart, not their vhost."""

import pytest

from pybroker.core.events.cause import BROKER
from pybroker.core.policy.parameters import ValidationError
from pybroker.core.topology.policies import LOOK_NOUNS, TURN_COST, TURN_MS
from pybroker.core.topology.queue_declare import QueueProperties, create_queue
from pybroker.wire.table import Table
from tests.core.kept import again, new_broker
from tests.topology import exchange, link, queue, reached, wired


@pytest.fixture
def broker():
    return new_broker()


@pytest.fixture
def vhost(broker):
    return broker.vhosts["/"]


def put(broker, name, definition, *, pattern="", priority=0, component="policy", vhost="/", **more):
    value = {"pattern": pattern, "definition": definition, "priority": priority, **more}
    broker.parameters.set(vhost, component, name, value)


def declare(vhost, name, arguments=None, **properties):
    asked = {"durable": True, "exclusive": False, "auto_delete": False, **properties}
    create_queue(vhost, None, None, name, QueueProperties(**asked, arguments=arguments or Table()), BROKER)
    return vhost.queues[name]


def test_what_is_there_and_what_comes_is_under_it(broker, vhost):
    before = declare(vhost, "q1")
    put(broker, "p", {"max-length": 5}, pattern="^q")
    after, other = declare(vhost, "q2", wired(x_max_length=3)), declare(vhost, "other")
    assert (5, 3, None) == tuple(made.limits.length_max for made in (before, after, other))
    assert ("p", "p", "") == tuple(made.applied.policy for made in (before, after, other))


def test_the_next_one_counts_when_it_is_cleared(broker, vhost):
    made = declare(vhost, "q")
    put(broker, "high", {"max-length": 1}, priority=1)
    put(broker, "low", {"max-length": 2, "message-ttl": 9})
    assert (1, None) == (made.limits.length_max, made.limits.message_ttl_ms)
    broker.parameters.clear("/", "policy", "high")
    assert (2, 9) == (made.limits.length_max, made.limits.message_ttl_ms)
    put(broker, "low", {"max-length": 2}, pattern="x")
    assert (None, None) == (made.limits.length_max, made.limits.message_ttl_ms)


def test_equal_queues_share_what_they_are_under(broker, vhost):
    one, other = declare(vhost, "q1"), declare(vhost, "q2")
    put(broker, "p", {"max-length": 5})
    put(broker, "o", {"max-length": 3}, component="operator_policy")
    assert one.applied is other.applied
    assert one.limits is other.limits
    assert ("p", "o", {"max-length": 3}) == (one.applied.policy, one.applied.operator_policy, one.applied.definition)


def test_what_is_refused_changes_nothing(broker, vhost):
    put(broker, "p", {"max-length": 5})
    with pytest.raises(ValidationError):
        put(broker, "p", {"max-length": -5})
    assert 5 == declare(vhost, "q").limits.length_max
    assert ["p"] == [policy.name for policy in broker.policies.of("/", "policy")]


def test_a15_an_alternate_exchange_by_policy_is_used_at_once(broker, vhost):
    exchange(vhost, "my-direct")
    exchange(vhost, "my-ae", "fanout")
    declare(vhost, "unrouted")
    link(vhost, "my-ae", "unrouted")
    assert [] == reached(vhost, "my-direct", "k")
    generation = vhost.generation
    put(broker, "AE", {"alternate-exchange": "my-ae"}, pattern="^my-direct$", **{"apply-to": "exchanges"})
    assert generation < vhost.generation
    assert (["unrouted"], "AE") == (reached(vhost, "my-direct", "k"), vhost.exchanges["my-direct"].policy)
    broker.parameters.clear("/", "policy", "AE")
    assert ([], "") == (reached(vhost, "my-direct", "k"), vhost.exchanges["my-direct"].policy)


def test_a15_what_was_declared_wins(broker, vhost):
    made = exchange(vhost, "x", arguments=wired(alternate_exchange="declared"))
    put(broker, "AE", {"alternate-exchange": "policy"})
    assert "declared" == made.alternate
    assert "policy" == exchange(vhost, "y").alternate


def test_a15_its_value_is_a_string(broker):
    with pytest.raises(ValidationError, match="5 is not a valid alternate exchange name"):
        put(broker, "AE", {"alternate-exchange": 5})


def test_a16_the_default_exchange_has_none_by_policy_either(broker, vhost):
    put(broker, "AE", {"alternate-exchange": "policy"})
    assert (None, "AE") == (vhost.exchanges[""].alternate, vhost.exchanges[""].policy)


def test_they_are_there_again_after_a_restart(broker, vhost):
    exchange(vhost, "x")
    declare(vhost, "q")
    put(broker, "p", {"max-length": 5, "alternate-exchange": "ae"}, pattern="^[qx]$", priority=3)
    put(broker, "o", {"max-length": 4}, component="operator_policy")
    restarted = again(broker)
    found = restarted.vhosts["/"]
    assert [] == restarted.notices
    assert (4, "p", "o") == (
        found.queues["q"].limits.length_max,
        found.queues["q"].applied.policy,
        found.queues["q"].applied.operator_policy,
    )
    assert "ae" == found.exchanges["x"].alternate
    broker.parameters.clear("/", "policy", "p")
    broker.parameters.clear("/", "operator_policy", "o")
    assert None is again(broker).vhosts["/"].queues["q"].limits.length_max


def test_one_that_this_version_does_not_understand_is_reported_and_stops_nothing(broker, vhost):
    declare(vhost, "q")
    put(broker, "good", {"max-length": 5})
    value = {"value": {"pattern": "", "definition": {"later": 1}, "priority": 9}}
    broker.definitions.put("parameter", ("/", "policy", "bad"), value)
    restarted = again(broker)
    assert 5 == restarted.vhosts["/"].queues["q"].limits.length_max
    (notice,) = restarted.notices
    assert "are not recognised policy settings" in notice


def test_those_of_a_deleted_vhost_are_gone_with_it(broker):
    broker.add_vhost("v")
    vhost = broker.vhosts["v"]
    declare(vhost, "q")
    put(broker, "p", {"max-length": 5}, vhost="v")
    broker.delete_vhost("v")
    assert ((), 0) == (broker.policies.of("v", "policy"), broker.policies.left("v"))
    broker.add_vhost("v")
    assert None is declare(broker.vhosts["v"], "q").limits.length_max


def test_a_reset_forgets_them(broker):
    put(broker, "p", {"max-length": 5})
    broker.reset()
    assert None is declare(broker.vhosts["/"], "q").limits.length_max


def test_they_count_in_their_vhost_alone(broker, vhost):
    put(broker, "p", {"max-length": 5})
    broker.add_vhost("v")
    assert None is declare(broker.vhosts["v"], "q").limits.length_max


def test_very_many_queues_are_gone_over_a_share_a_turn(broker, vhost):
    count = 3 * TURN_COST // 2
    made = [queue(vhost, f"q{number}") for number in range(count)]
    put(broker, "p", {"max-length": 5})
    at_once = sum(each.limits.length_max == 5 for each in made)
    assert (0 < at_once <= TURN_COST // 2, count) == (True, at_once + broker.policies.left("/"))
    late = declare(vhost, "late")
    assert 5 == late.limits.length_max
    turns = 0
    while broker.policies.left("/"):
        before = broker.policies.left("/")
        broker.pump()
        assert before - broker.policies.left("/") <= TURN_COST // 2
        turns += 1
    assert turns > 5
    assert all(each.limits.length_max == 5 for each in made)


def test_a_change_begins_anew_with_all_of_them(broker, vhost):
    made = [queue(vhost, f"q{number}") for number in range(TURN_COST)]
    put(broker, "p", {"max-length": 5})
    broker.pump()
    put(broker, "p", {"max-length": 6})
    vhost.delete_queue(made.pop())
    while broker.policies.left("/"):
        broker.pump()
    assert {6} == {each.limits.length_max for each in made}


def test_of_a_key_without_effect_operators_are_told_once(broker, caplog):
    for name in "ab":
        put(broker, name, {"ha-mode": "all", "max-length": 1})
    said = [record.message for record in caplog.records if "ha-mode" in record.message]
    assert ["ha-mode in a policy has no effect here but is stored (policy 'a' of vhost '/')"] == said


def test_f43_a_default_type_decides_which_policies_fit(broker):
    broker.add_vhost("v", default_queue_type="quorum")
    vhost = broker.vhosts["v"]
    put(broker, "c", {"max-length": 5}, vhost="v", **{"apply-to": "classic_queues"})
    put(broker, "q", {"max-length": 6}, vhost="v", **{"apply-to": "quorum_queues"})
    made = declare(vhost, "q", wired(x_queue_type="quorum"))
    assert ("quorum", 6) == (made.type, made.limits.length_max)
    assert 5 == declare(vhost, "c").limits.length_max


def test_what_dead_letters_cannot_do_is_told(broker, vhost, caplog):
    said = []

    def told():
        said[:] = [record.message for record in caplog.records if "dead-letter" in record.message]
        caplog.clear()
        broker.clock.advance(60_000)
        return said

    keys = {"dead-letter-strategy": "at-least-once", "dead-letter-exchange": "x", "overflow": "reject-publish"}
    declare(vhost, "a", wired(**{f"x_{key.replace('-', '_')}": value for key, value in keys.items()}))
    put(broker, "p", keys)
    assert [] == told()
    put(broker, "p", keys | {"overflow": "drop-head"}, pattern="^b$")
    made = declare(vhost, "b")
    text = (
        "Falling back to dead-letter-strategy at-most-once for queue '{}' in vhost '/' because configured "
        "dead-letter-strategy at-least-once is incompatible with effective overflow strategy drop-head. To enable "
        "dead-letter-strategy at-least-once, set overflow strategy to reject-publish."
    )
    assert [text.format("b")] == told()
    assert not made.limits.at_least_once
    put(broker, "p", {"dead-letter-routing-key": "k"}, pattern="^b$")
    (sentence,) = told()
    reason = "despite configured dead-letter-routing-key 'k' because dead-letter-exchange is not configured."
    assert f"Disabling dead-lettering for queue 'b' in vhost '/' {reason}" == sentence
    declare(vhost, "c", wired(x_dead_letter_strategy="at-least-once", x_dead_letter_exchange="x"))
    assert [text.format("c")] == told()


def test_a_slow_pattern_is_tried_on_some_names_in_each_turn(broker, vhost, monkeypatch):
    made = [queue(vhost, f"q{number}") for number in range(10 * LOOK_NOUNS)]
    monkeypatch.setattr(type(broker.clock), "refresh", lambda clock: clock.advance(TURN_MS))
    put(broker, "p", {"max-length": 5})
    left = broker.policies.left("/")
    assert left == len(made) + len(vhost.exchanges) - LOOK_NOUNS
    broker.pump()
    assert LOOK_NOUNS == left - broker.policies.left("/")
    while broker.policies.left("/"):
        broker.pump()
    assert all(each.limits.length_max == 5 for each in made)
