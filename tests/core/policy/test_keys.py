"""Definition keys: RabbitMQ's values and texts, and how an operator's are merged with a user's (F13)."""

import pytest

from pybroker.core.policy.keys import KEYS, UNSUPPORTED, fault_of, merged, without_effect
from pybroker.core.policy.limits import OVERFLOWS

# F13, and what operators could say of mirrored queues.
OPERATORS = {
    *("delivery-limit", "expires", "max-in-memory-bytes", "max-in-memory-length", "max-length", "max-length-bytes"),
    *("message-ttl", "overflow", "queue-version", "target-group-size", "ha-mode", "ha-params", "ha-sync-mode"),
    *("head-age-target", "time-to-consume-target"),
    *("delayed-retry-max", "delayed-retry-min", "delayed-retry-type", "retry-delays"),
}
GOOD = {
    "alternate-exchange": ["x", ""],
    "consumer-timeout": [0, 60_000],
    "dead-letter-exchange": ["x", ""],
    "dead-letter-routing-key": ["k", "k" * 255],
    "dead-letter-strategy": ["at-most-once", "at-least-once"],
    "delayed-retry-max": [1, 315_360_000_000],
    "delayed-retry-min": [1, 315_360_000_000],
    "delayed-retry-type": ["disabled"],
    "delivery-limit": [0, 5],
    "expires": [1, 315_360_000_000],
    "federation-upstream": ["u"],
    "federation-upstream-pattern": ["^u"],
    "federation-upstream-set": ["all"],
    "ha-mode": ["all"],
    "head-age-target": [1, 60_000],
    "initial-cluster-size": [0, 3],
    "max-age": ["1D", "30m", "5Y"],
    "max-in-memory-bytes": [0, 5],
    "max-in-memory-length": [0, 5],
    "max-length": [0, 1 << 70],
    "max-length-bytes": [0, 5],
    "message-ttl": [0, 315_360_000_000],
    "overflow": list(OVERFLOWS),
    "queue-leader-locator": ["client-local", "balanced", "random", "least-leaders"],
    "queue-master-locator": ["min-masters", "client-local", "random"],
    "retry-delays": ["1s", "1s,10s,1m"],
    "queue-mode": ["default", "lazy"],
    "queue-version": [1, 2],
    "routing-key": ["k"],
    "shards-per-node": [2],
    "stream-filter-size-bytes": [16, 255],
    "stream-max-segment-size-bytes": [0, 3_000_000_000],
    "target-group-size": [1, 5],
    "time-to-consume-target": [1, 60_000],
}
BAD = {
    "alternate-exchange": ([5], "{} is not a valid alternate exchange name"),
    "consumer-timeout": ([-1, 1.5, True, None], "{} is not a valid consumer timeout"),
    "dead-letter-exchange": ([5, None], "{} is not a valid dead letter exchange name"),
    "dead-letter-routing-key": ([5], "{} is not a valid dead letter routing key"),
    "dead-letter-strategy": ([5], "{} is not a valid dead letter strategy"),
    "delivery-limit": ([1.5, True], "{} is not a valid delivery limit"),
    "expires": ([0, -1, True, 315_360_000_001], "{} is not a valid queue expiry"),
    "head-age-target": ([0, 1.5, True], "{} is not a valid target for the age of the head"),
    "max-age": ([5], "{} is not a valid max age: a number with Y, M, D, h, m or s, such as 7D"),
    "max-in-memory-bytes": ([-1], "{} is not a valid maximum memory in bytes"),
    "max-in-memory-length": ([-1], "{} is not a valid maximum memory in bytes"),
    "max-length": ([-1, 1.0, False], "{} is not a valid maximum length"),
    "max-length-bytes": ([-1], "{} is not a valid maximum length in bytes"),
    "message-ttl": ([-1, 315_360_000_001], "{} is not a valid message TTL"),
    "overflow": ([5], "{} is not a valid overflow value"),
    "queue-mode": ([1], "{} is not a valid queue-mode value"),
    "queue-version": ([0, 3, True, 1.0], "{} is not a valid queue-version value"),
    "stream-filter-size-bytes": ([15, 256], "{} is not a valid filter size. Valid range is 16-255"),
    "target-group-size": ([0], "{} is not a valid qq target count value"),
    "ha-mode": ([5, None], "{} is not a valid ha-mode value"),
}
PRINTED = {True: "true", False: "false", None: "null"}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in GOOD.items() for value in values])
def test_values_that_rabbitmq_takes_are_taken(key, value):
    assert None is fault_of({key: value}, operator=False)


@pytest.mark.parametrize(
    ("key", "value", "text"), [(key, value, text) for key, (values, text) in BAD.items() for value in values]
)
def test_others_are_refused_with_its_texts(key, value, text):
    printed = PRINTED[value] if type(value) is bool or value is None else str(value)
    assert text.format(printed) == fault_of({key: value}, operator=False)


def test_words_are_printed_as_erlang_does():
    assert '<<"never">> is not a valid overflow value' == fault_of({"overflow": "never"}, operator=False)
    key = "k" * 256
    text = f'<<"{key}">> is not a valid dead letter routing key'
    assert text == fault_of({"dead-letter-routing-key": key}, operator=False)
    assert fault_of({"max-age": ["1D"]}, operator=False).startswith('[<<"1D">>] is not a valid max age: a number')


@pytest.mark.parametrize("age", ["D", "0D", "1d", "1 D", "1DD", ""])
def test_an_age_is_a_number_and_a_unit(age):
    assert fault_of({"max-age": age}, operator=False).endswith(" such as 7D")


@pytest.mark.parametrize("key", sorted(KEYS))
def test_f13_an_operator_policy_has_these_keys(key):
    value = GOOD.get(key, ["x"])[0]
    mode = {"ha-mode": "nodes", "ha-params": ["a"]} if key.startswith("ha-") else {}
    value = {"ha-sync-mode": "manual", "ha-params": ["a"], "ha-mode": "nodes"}.get(key, value)
    refused = fault_of(mode | {key: value}, operator=True)
    if key in OPERATORS:
        assert None is refused
    else:
        assert refused.endswith(" are not recognised policy settings")


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (
            {"ha-sync-mode": "manual"},
            "ha-mode must be specified to specify ha-params, ha-sync-mode or ha-promote-on-shutdown",
        ),
        ({"ha-mode": "all", "ha-params": 2}, 'ha-mode="all" does not take parameters'),
        ({"ha-mode": "exactly"}, 'ha-mode="exactly" takes an integer, none given'),
        ({"ha-mode": "exactly", "ha-params": 0}, 'ha-mode="exactly" takes an integer, 0 given'),
        ({"ha-mode": "exactly", "ha-params": 2}, None),
        ({"ha-mode": "nodes", "ha-params": []}, 'ha-mode="nodes" list must be non-empty'),
        ({"ha-mode": "nodes", "ha-params": 5}, 'ha-mode="nodes" takes a list, 5 given'),
        ({"ha-mode": "nodes", "ha-params": ["a", 5]}, 'ha-mode="nodes" takes a list of strings, [5] was not a string'),
        ({"ha-mode": "nodes", "ha-params": ["a"]}, None),
        ({"ha-mode": "all", "ha-sync-mode": "x"}, 'ha-sync-mode must be "manual" or "automatic", got <<"x">>'),
        ({"ha-mode": "all", "ha-sync-batch-size": 0}, "ha-sync-batch-size takes an integer greater than 0, 0 given"),
        (
            {"ha-mode": "all", "ha-promote-on-failure": 1},
            'ha-promote-on-failure must be "always" or "when-synced", got 1',
        ),
    ],
)
def test_keys_of_mirrored_queues_hang_together(definition, text):
    assert text == fault_of(definition, operator=False)


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ({}, "no policy provided"),
        ([], "no policy provided"),
        ([1, {"a": None}], 'definition must be a dictionary: [1,#{<<"a">> => null}]'),
        (5, "parse error while reading policy definition: 5"),
        (None, "parse error while reading policy definition: null"),
        ({"b": [1], "a": {}}, '[{<<"a">>,#{}},{<<"b">>,[1]}] are not recognised policy settings'),
        ({"b": 1, "max-length": -1}, "-1 is not a valid maximum length"),
        ({"delivery-limit": -1}, "-1 is not a valid delivery limit"),
    ],
)
def test_what_is_no_definition_is_refused(definition, text):
    assert text == fault_of(definition, operator=False)


def test_f13_of_two_numbers_the_lower_counts_of_two_words_the_operators():
    users = {"max-length": 5, "expires": 3, "overflow": "drop-head", "delivery-limit": -1, "alternate-exchange": "x"}
    operators = {"max-length": 9, "expires": 2, "overflow": "reject-publish", "delivery-limit": 7, "queue-version": 2}
    assert {
        "alternate-exchange": "x",
        "delivery-limit": 7,
        "expires": 2,
        "max-length": 5,
        "overflow": "reject-publish",
        "queue-version": 2,
    } == merged(users, operators)
    assert {"target-group-size": 5} == merged({"target-group-size": 3}, {"target-group-size": 5})
    assert {"delivery-limit": 3} == merged({"delivery-limit": 3}, {"delivery-limit": -1})
    assert {"delivery-limit": -1} == merged({"delivery-limit": -2}, {"delivery-limit": -1})


def test_what_does_nothing_here_is_known():
    assert ["ha-mode", "queue-mode"] == without_effect({"ha-mode": "all", "max-length": 1, "queue-mode": "lazy"})
    assert {key for keys in UNSUPPORTED.values() for key in keys} <= {*KEYS}
