"""Policies of one queue: matching, and which of argument, policy and operator policy counts (F12, F13)."""

import pytest
from hypothesis import given, strategies as st

from pybroker.core.policy.arguments import queue_limits
from pybroker.core.policy.limits import DROP_HEAD, OVERFLOWS, REJECT_PUBLISH, REJECT_PUBLISH_DLX
from pybroker.core.policy.parameters import ValidationError
from pybroker.core.policy.policy import APPLY_TO, UNRULED, Applied, Policy, check
from tests.strategies import few
from tests.topology import wired

APPLY_TO_FAULT = (
    "apply-to '1' unrecognised; should be one of: 'queues', 'classic_queues',  'quorum_queues', 'streams', "
    "'exchanges', or 'all'"
)


def policy(definition, *, name="p", pattern="", priority=0, apply_to="all"):
    value = {"pattern": pattern, "definition": definition, "priority": priority, "apply-to": apply_to}
    return Policy.of("/", name, value)


def limits(arguments, user=None, operator=None, queue_type="classic"):
    """Return what arguments, a policy and an operator policy come to, each given as {key: value} without `x-`."""
    given = {f"x-{key}": value for key, value in arguments.items()}
    policies = [None if definition is None else policy(definition) for definition in (user, operator)]
    return Applied.of(*policies).limits(given, queue_type)


@pytest.mark.parametrize(
    ("apply_to", "sorts"),
    [
        ("all", {"exchange", "classic", "quorum", "stream"}),
        ("queues", {"classic", "quorum", "stream"}),
        ("exchanges", {"exchange"}),
        ("classic_queues", {"classic"}),
        ("quorum_queues", {"quorum"}),
        ("streams", {"stream"}),
    ],
)
def test_it_applies_to_what_it_says(apply_to, sorts):
    made = policy({"max-length-bytes": 1}, pattern="^q", apply_to=apply_to)
    every = ("exchange", "classic", "quorum", "stream")
    assert sorts == {sort for sort in every if made.matches(sort, "q1")}
    assert not any(made.matches(sort, "x") for sort in every)


@pytest.mark.parametrize(
    ("definition", "sorts"),
    [
        ({"max-length": 1, "max-age": "1D"}, {"exchange"}),
        ({"max-length-bytes": 1, "max-age": "1D"}, {"exchange", "stream"}),
        ({"max-length-bytes": 1, "retry-delays": "1s"}, {"exchange", "classic", "quorum"}),
        ({"max-length-bytes": 1, "stream-filter-size-bytes": 16}, {"exchange", "classic", "quorum", "stream"}),
        ({"max-length": 1, "queue-mode": "lazy"}, {"exchange", "classic"}),
        ({"max-length": 1, "ha-mode": "all"}, {"exchange", "classic"}),
        ({"max-length": 1, "max-in-memory-length": 5}, {"exchange", "quorum"}),
        ({"max-length": 1, "dead-letter-strategy": "at-least-once"}, {"exchange", "classic", "quorum"}),
        ({"max-length": 1, "delivery-limit": 3}, {"exchange", "classic", "quorum"}),
    ],
)
def test_with_a_key_that_is_nothing_for_a_type_it_is_none_for_it(definition, sorts):
    made = policy(definition)
    assert sorts == {sort for sort in ("exchange", "classic", "quorum", "stream") if made.matches(sort, "n")}


def test_the_one_with_the_highest_priority_counts_then_the_first_by_name():
    made = [policy({"expires": 1}, name=name, priority=priority) for name, priority in (("b", 1), ("a", 1), ("z", 2))]
    assert ["z", "a", "b"] == [each.name for each in sorted(made, key=lambda each: each.rank)]


def test_without_a_policy_arguments_count_alone():
    arguments = wired(x_message_ttl=5, x_overflow="reject-publish", x_max_length=3)
    assert queue_limits(arguments, "classic") == UNRULED.limits(arguments, "classic")
    assert ("", "", {}) == (UNRULED.policy, UNRULED.operator_policy, UNRULED.definition)


NUMBERS = {
    "expires": "expires_ms",
    "message-ttl": "message_ttl_ms",
    "max-length": "length_max",
    "max-length-bytes": "octets_max",
    "delivery-limit": "delivery_limit",
}
WORDS = {
    "dead-letter-exchange": "dead_letter_exchange",
    "dead-letter-routing-key": "dead_letter_routing_key",
}


@pytest.mark.parametrize(("key", "field"), NUMBERS.items())
def test_f12_of_numbers_the_lower_counts_also_against_a_plain_policy(key, field):
    for argument, value in ((3, 5), (5, 3)):
        assert 3 == getattr(limits({key: argument}, {key: value}), field)
    assert 5 == getattr(limits({key: 5}), field) == getattr(limits({}, {key: 5}), field)


@pytest.mark.parametrize(("key", "field"), WORDS.items())
def test_f12_of_words_the_argument_counts_against_a_policy(key, field):
    given = {"dead-letter-exchange": "x"}
    assert "argument" == getattr(limits(given | {key: "argument"}, given | {key: "policy"}), field)
    assert "policy" == getattr(limits({}, given | {key: "policy"}), field)


def test_f12_the_argument_overflow_counts_against_a_policy():
    given = {"overflow": "reject-publish"}
    assert REJECT_PUBLISH == limits(given, {"overflow": "drop-head"}).overflow
    assert REJECT_PUBLISH_DLX == limits({}, {"overflow": "reject-publish-dlx"}).overflow


def test_for_a_quorum_queue_policies_count_in_expires_and_overflow():
    given = {"expires": 5, "overflow": "reject-publish"}
    made = limits(given, {"expires": 9, "overflow": "drop-head"}, queue_type="quorum")
    assert (9, DROP_HEAD) == (made.expires_ms, made.overflow)


# Every operator key with effect, values that differ: argument, policy, operator policy, and what they come to.
LOWER = [(3, 5, 7, 3), (5, 3, 7, 3), (7, 5, 3, 3), (None, 5, 3, 3), (None, 3, 5, 3), (5, None, 3, 3), (3, None, 5, 3)]
OPERATOR_WINS = [(key, field, *row) for key, field in NUMBERS.items() for row in [*LOWER, (None, None, 3, 3)]] + [
    ("overflow", "overflow", argument, user, operator, OVERFLOWS[operator])
    for argument in [None, *OVERFLOWS]
    for user in [None, *OVERFLOWS]
    for operator in OVERFLOWS
]


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
@pytest.mark.parametrize(("key", "field", "argument", "user", "operator", "expected"), OPERATOR_WINS)
def test_f13_an_operator_policy_beats_arguments_and_policies(
    key, field, argument, user, operator, expected, queue_type
):
    given, users = ({} if value is None else {key: value} for value in (argument, user))
    if queue_type == "quorum" and key == "expires" and user is not None:
        expected = min(user, operator)  # a policy counts there against the argument
    assert expected == getattr(limits(given, users or None, {key: operator}, queue_type), field)


def test_f13_negative_is_no_delivery_limit():
    for argument, user, operator, expected in (
        (-1, None, None, None),
        (-1, 5, None, 5),
        (5, -1, -1, 5),
        (-1, -1, 3, 3),
    ):
        users, operators = ({"delivery-limit": value} if value is not None else None for value in (user, operator))
        assert expected == limits({"delivery-limit": argument}, users, operators).delivery_limit


def test_of_two_consumer_timeouts_the_lower_counts_and_0_is_none():
    for argument, user, expected in ((3, 5, 3), (5, 3, 3), (0, 5, 5), (5, 0, 5), (0, 0, 0)):
        made = limits({"consumer-timeout": argument}, {"consumer-timeout": user})
        assert expected == made.consumer_timeout_ms


@pytest.mark.parametrize(
    ("changed", "expected"),
    [({}, True), ({"overflow": "drop-head"}, False), ({"dead-letter-exchange": None}, False)],
)
def test_at_least_once_wants_an_exchange_and_reject_publish(changed, expected):
    keys = {
        "dead-letter-strategy": "at-least-once",
        "dead-letter-exchange": "x",
        "overflow": "reject-publish",
    } | changed
    given = {key: value for key, value in keys.items() if value is not None}
    assert expected is limits(given, queue_type="quorum").at_least_once
    assert expected is limits({}, given, queue_type="quorum").at_least_once


def test_f11_what_is_fixed_when_it_is_declared_no_policy_changes():
    given = {"max-priority": 5, "single-active-consumer": True}
    made = limits(given, {"max-length": 1}, {"max-length": 2})
    assert (5, True, "classic") == (made.priority_max, made.single_active_consumer, made.queue_type)


values = st.none() | st.integers(0, 5)


@few
@given(
    st.fixed_dictionaries({key: st.tuples(values, values, values) for key in NUMBERS if key != "expires"}),
    st.tuples(*[st.sampled_from([None, *OVERFLOWS])] * 3),
    st.sampled_from(["classic", "quorum"]),
)
def test_a_merge_is_what_a_model_says(numbers, overflows, queue_type):
    sources = [{}, {}, {}]
    for key, triple in {**numbers, "overflow": overflows}.items():
        for source, value in zip(sources, triple, strict=True):
            if value is not None:
                source[key] = value
    made = limits(sources[0], sources[1] or None, sources[2] or None, queue_type)
    for key, triple in numbers.items():
        assert min((value for value in triple if value is not None), default=None) == getattr(made, NUMBERS[key])
    argument, user, operator = overflows
    order = [operator, user, argument] if queue_type == "quorum" else [operator, argument, user]
    assert OVERFLOWS[next((value for value in order if value is not None), "drop-head")] == made.overflow


@pytest.mark.parametrize(
    ("value", "reasons"),
    [
        (5, ["p not a list 5"]),
        ({}, ['Key "definition" not found in p', 'Key "pattern" not found in p', 'Key "priority" not found in p']),
        (
            {"definition": {"expires": 1}, "pattern": 5, "priority": "a", "apply-to": 1, "z": 1},
            [
                'Unrecognised terms [{<<"z">>,1}] in p',
                APPLY_TO_FAULT,
                "pattern should be a binary but was 5",
                'priority should be a number, actually was <<"a">>',
            ],
        ),
    ],
)
def test_all_that_is_wrong_is_said(value, reasons):
    with pytest.raises(ValidationError) as refused:
        check("p", value, operator=False)
    assert "\n".join(["Validation failed\n", *reasons]) == refused.value.text


@pytest.mark.parametrize(
    ("argument", "user", "operator", "expected"),
    [(3, 5, None, 5), (5, 3, None, 3), (3, None, 5, 5), (3, 9, 5, 5), (3, 5, 9, 5), (3, None, None, 3)],
)
def test_for_a_stream_policies_count_instead_of_arguments(argument, user, operator, expected):
    users, operators = (None if value is None else {"max-length-bytes": value} for value in (user, operator))
    assert expected == limits({"max-length-bytes": argument}, users, operators, "stream").octets_max


def test_a_streams_policies_have_age_and_segment_size():
    given = {"max-age": "1h", "stream-max-segment-size-bytes": 7}
    made = limits(given, {"max-age": "2m", "stream-max-segment-size-bytes": 9}, queue_type="stream")
    assert (120_000, 9) == (made.age_max_ms, made.segment_octets_max)
    assert 3_600_000 == limits(given, queue_type="stream").age_max_ms


def test_apply_to_is_all_by_default():
    value = {"definition": {"max-length-bytes": 1}, "pattern": "", "priority": 1.5}
    check("p", value, operator=True)
    assert APPLY_TO["all"] == Policy.of("/", "p", value).sorts
