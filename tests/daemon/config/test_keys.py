"""The table of keys: its defaults are true, and each is found by the key that a file has."""

from operator import attrgetter
from pathlib import Path

import pytest

from pybroker.core.settings import Settings
from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.keys import KEYS, find_key

CONF = Path(__file__).parents[3] / "etc/pybroker.conf"


@pytest.mark.parametrize("name", [n for n, key in KEYS.items() if key.default and key.attribute[:1] not in {"", "."}])
def test_the_documented_default_is_the_settings_default(name):
    key = KEYS[name]
    default = attrgetter(key.attribute)(Settings())
    if key.default == "pybroker@HOST":
        assert default == "pybroker@localhost"
    else:
        assert key.parse(key.default) == default


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("heartbeat", ("heartbeat", "")),
        ("listeners.tcp.default", ("listeners.tcp.NAME", "default")),
        ("listeners.tcp", ("listeners.tcp", "")),
        ("listeners.tcp.", None),
        ("listeners.tcp.a.b", None),
        ("loopback_users.bob.smith", ("loopback_users.USER", "bob.smith")),
        ("loopback_users.", None),
        ("default_limits.vhosts.a.max_queues", ("default_limits.vhosts.NAME.max_queues", "a")),
        ("default_limits.vhosts.a.b.max_queues", None),
        ("default_limits.vhosts.max_queues", None),
        ("listeners.tcp.NAME", ("listeners.tcp.NAME", "NAME")),
        ("nothing", None),
    ],
)
def test_a_word_in_capitals_stands_for_any_word(key, found):
    assert find_key(key) == found


def test_the_shipped_file_says_nothing_as_it_is():
    assert parse_conf(CONF.read_bytes(), "c") == ([], [])


def test_the_shipped_file_states_every_default():
    lines = [line[2:] for line in CONF.read_text().splitlines() if line.startswith("# ") and " = " in line]
    stated = {}
    for line in lines:
        key, _, value = line.partition(" = ")
        if find_key(key):
            stated.setdefault(find_key(key)[0], value)
    for name, key in KEYS.items():
        if key.default:
            assert stated[name] == key.default, name
