"""Delayed retry as arguments and policies say it."""

import pytest

from pybroker.core.policy.arguments import queue_limits
from pybroker.core.policy.keys import fault_of
from pybroker.core.policy.retry import Retry, parse_steps, retry_of


@pytest.mark.parametrize(
    ("text", "steps"),
    [("1s,10s,1m", (1_000, 10_000, 60_000)), ("500ms", (500,)), (" 1h , 2d ", (3_600_000, 172_800_000))]
    + [(text, None) for text in ("", "1", "0s", "1s,", "-1s", "1y", "9999d", 5, None, ",".join(["1s"] * 101))],
)
def test_steps_are_durations(text, steps):
    assert steps == parse_steps(text)


@pytest.mark.parametrize(
    ("arguments", "retry"),
    [
        ({}, None),
        ({"x-delayed-retry-type": "all"}, None),
        ({"x-delayed-retry-min": 5}, None),
        ({"x-delayed-retry-type": "disabled", "x-delayed-retry-min": 5, "x-retry-delays": "1s"}, None),
        ({"x-delayed-retry-type": "failed", "x-delayed-retry-min": 5}, Retry("failed", 5, 5)),
        (
            {"x-delayed-retry-type": "all", "x-delayed-retry-min": 5, "x-delayed-retry-max": 9},
            Retry("all", 5, 9),
        ),
        ({"x-retry-delays": "1s,2s"}, Retry("all", 0, 0, (1_000, 2_000))),
        (
            {"x-retry-delays": "1s", "x-delayed-retry-type": "returned", "x-delayed-retry-min": 5},
            Retry("returned", 5, 5, (1_000,)),
        ),
    ],
)
def test_what_is_set_comes_to_a_retry(arguments, retry):
    assert retry == retry_of(arguments)


def test_steps_limit_deliveries():
    assert 2 == queue_limits({"x-retry-delays": "1s,2s"}, "classic").delivery_limit
    assert 1 == queue_limits({"x-retry-delays": "1s,2s", "x-delivery-limit": 1}, "classic").delivery_limit
    assert 2 == queue_limits({"x-retry-delays": "1s,2s", "x-delivery-limit": 9}, "classic").delivery_limit


@pytest.mark.parametrize(
    ("definition", "fault"),
    [
        ({"delayed-retry-type": "all", "delayed-retry-min": 1}, None),
        ({"delayed-retry-type": "all"}, "delayed-retry-min is required when delayed-retry-type is all"),
        ({"delayed-retry-type": "disabled"}, None),
        ({"delayed-retry-type": "failed", "retry-delays": "1s"}, None),
        (
            {"delayed-retry-type": "some", "delayed-retry-min": 1},
            '"some" is not a valid delayed retry type. Must be one of: all, failed, returned, disabled',
        ),
        (
            {"delayed-retry-min": 0},
            "0 is not a valid delayed retry minimum delay. Must be a positive integer",
        ),
        (
            {"delayed-retry-max": "1"},
            '"1" is not a valid delayed retry maximum delay. Must be a positive integer',
        ),
        (
            {"delayed-retry-min": 5, "delayed-retry-max": 4},
            "delayed-retry-max (4) must not be smaller than delayed-retry-min (5)",
        ),
        ({"retry-delays": "1s,x"}, "'1s,x' are not valid retry delays. Must be up to 100 durations such as 1s,10s,1m"),
    ],
)
def test_a_policy_is_checked(definition, fault):
    for operator in (False, True):
        found = fault_of(definition, operator=operator)
        assert (found or "").replace("<<", "").replace(">>", "") == (fault or "")
