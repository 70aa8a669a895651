"""The keys that say what new virtual hosts get, from the file to the settings."""

import pytest

from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import ConfigError, configure


def settings_of(text):
    return configure(*parse_conf(text.encode(), "f")).settings


def problems_of(text):
    with pytest.raises(ConfigError) as caught:
        settings_of(text)
    return caught.value.problems


def test_what_is_given_under_one_name_belongs_together():
    head = "default_limits.vhosts"
    found = settings_of(f"{head}.a.pattern = ^t\n{head}.a.max_queues = 5\n{head}.b.max_connections = 1")
    assert {"a": {"pattern": "^t", "max_queues": 5}, "b": {"max_connections": 1}} == found.default_limits


def test_policies_have_durations_and_sizes():
    head = "default_policies.operator.p"
    found = settings_of(f"{head}.expires = 1h30m\n{head}.max_length_bytes = 1MB\n{head}.queue_pattern = ^q")
    expected = {"expires": 5_400_000, "max_length_bytes": 1_048_576, "queue_pattern": "^q"}
    assert {"p": expected} == found.default_policies


def test_a_policy_says_something():
    head = "default_policies.operator.p."
    assert problems_of(f"heartbeat = 1\n{head}queue_pattern = ^q") == [
        f"f:2: {head}* sets nothing for queues; set {head}max_length, for example"
    ]


def test_a_limit_is_a_number_above_zero():
    (problem,) = problems_of("default_limits.vhosts.a.max_queues = 0")
    assert problem.endswith("expected an integer from 1 to 1000000000")


def test_users_have_tags_and_permissions_and_names_with_dots():
    head = "default_users.bob.smith"
    found = settings_of(f"{head}.password = p\n{head}.tags = management, monitoring\n{head}.read = ^r").default_users
    assert {"bob.smith": {"password": "p", "tags": ("management", "monitoring"), "read": "^r"}} == found


def test_a_refused_password_is_not_shown():
    assert problems_of("default_users.a.password = ''") == [
        "f:1: default_users.a.password = ...: expected a non-empty text"
    ]
