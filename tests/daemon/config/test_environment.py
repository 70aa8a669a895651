"""Every setting in force, and where it comes from."""

import pytest

from pybroker.daemon.config import management_options, stream_options, tls_options
from pybroker.daemon.config.conf_file import Assignment, parse_conf
from pybroker.daemon.config.config import configure
from pybroker.daemon.config.environment import Row, effective
from pybroker.daemon.config.keys import KEYS, find_key


@pytest.fixture(autouse=True)
def no_systemd(monkeypatch):
    for name in ("STATE_DIRECTORY", "LOGS_DIRECTORY", "RUNTIME_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)


def config_of(text="", *typed):
    assignments, problems = parse_conf(text.encode(), "/etc/p.conf")
    config = configure([*assignments, *typed], problems)
    config.name_node("n@h")
    return config


def rows(config) -> dict[str, Row]:
    return {row.key: row for row in effective(config)}


def test_without_anything_given_all_is_default():
    found = rows(config_of())
    assert {row.source for row in found.values()} == {"default"}
    assert found["heartbeat"].value == "60"
    assert found["node.name"].value == "n@h"
    assert found["cluster_name"].value == "n@h"
    assert found["log.file"].value.endswith("/n@h.log")
    assert found["pid_file"].value.endswith("/n@h.pid")


OF_NEW_VHOSTS = ("default_limits.", "default_policies.", "default_users.")


def test_every_key_of_the_schema_is_there_unless_it_only_takes_away():
    shown = {(find_key(key) or (key,))[0] for key in rows(config_of())}
    assert set(KEYS) - shown == {
        "listeners.tcp",
        "listeners.ssl",
        "listeners.ssl.NAME",
        "listeners.unix.NAME",
        "stream.listeners.tcp",
        "stream.listeners.ssl",
        "stream.listeners.ssl.NAME",
        *(name for name, (default, *_) in stream_options.SETTINGS.items() if not default),
        *(name for name, (default, _) in tls_options.KEYS.items() if not default),
        *(name for name, (default, _) in management_options.KEYS.items() if not default),
        "proxy_protocol.trusted.N",
        "loopback_users",
        *(name for name in KEYS if name.startswith(OF_NEW_VHOSTS)),
        "vm_memory_high_watermark.absolute",
        "total_memory_available_override_value",
        "disk_free_limit.relative",
        "load_definitions",
        "management.load_definitions",
        "definitions.local.path",
    }


def limits(config):
    return [row for row in effective(config) if row.key.startswith(("vm_memory_high_watermark.", "disk_free_limit."))]


def test_of_a_limit_the_form_in_force_is_shown():
    assert limits(config_of()) == [
        ("vm_memory_high_watermark.relative", "0.4", "default"),
        ("disk_free_limit.absolute", "50000000", "default"),
    ]
    assert limits(config_of("disk_free_limit.relative = 1.0\nvm_memory_high_watermark.absolute = 4GiB\n")) == [
        ("vm_memory_high_watermark.absolute", "4GiB", "/etc/p.conf:2"),
        ("disk_free_limit.relative", "1.0", "/etc/p.conf:1"),
    ]
    both = "vm_memory_high_watermark.relative = 0.5\nvm_memory_high_watermark.absolute = 4GiB\n"
    assert limits(config_of(both))[0] == ("vm_memory_high_watermark.absolute", "4GiB", "/etc/p.conf:2")


def test_the_other_limits_are_shown_as_configured():
    found = rows(config_of("total_memory_available_override_value = 8GiB\nmemory_monitor_interval = 500\n"))
    assert found["total_memory_available_override_value"].value == "8GiB"
    assert found["memory_monitor_interval"] == ("memory_monitor_interval", "500", "/etc/p.conf:2")
    assert found["vm_memory_calculation_strategy"] == ("vm_memory_calculation_strategy", "allocated", "default")


def test_what_stands_for_several_is_shown_one_by_one():
    found = rows(config_of())
    assert [found[f"auth_mechanisms.{n}"].value for n in (1, 2)] == ["PLAIN", "AMQPLAIN"]
    assert found["loopback_users.guest"].value == "true"
    assert found["default_user_tags.administrator"].value == "true"
    assert found["listeners.tcp.1"].value == "5672"


def test_a_file_is_named_with_the_line_and_an_option_by_itself():
    port = Assignment("listeners.tcp.port", "0", "--port")
    found = rows(config_of("# why\nheartbeat = 10\nlisteners.unix.a = /tmp/a\n", port))
    assert found["heartbeat"] == ("heartbeat", "10", "/etc/p.conf:2")
    assert found["listeners.tcp.port"] == ("listeners.tcp.port", "0", "--port")
    assert found["listeners.unix.a"].value == "/tmp/a"
    assert "listeners.tcp.1" not in found


def test_the_password_is_not_shown():
    found = rows(config_of("default_pass = secret\ndefault_users.a.password = secret\n"))
    assert found["default_users.a.password"].value == "***"
    assert found["default_pass"] == ("default_pass", "***", "/etc/p.conf:1")


def test_systemds_folders_are_named(monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/p")
    found = rows(config_of())
    assert found["data_dir"] == ("data_dir", "/var/lib/p", "STATE_DIRECTORY")


def test_what_was_set_while_the_node_runs_replaces_the_rest():
    config = config_of("heartbeat = 10\n")
    settings = config.settings
    settings.changed("heartbeat", "5")
    settings.changed("loopback_users", "none")
    settings.changed("vm_memory_high_watermark.absolute", "1000")
    found = rows(config)
    assert found["heartbeat"] == ("heartbeat", "5", "pybrokerctl")
    assert found["loopback_users"].value == "none"
    assert "loopback_users.guest" not in found
    assert found["vm_memory_high_watermark.absolute"].value == "1000"
    assert "vm_memory_high_watermark.relative" not in found
    settings.changed("vm_memory_high_watermark.relative", "0.5")
    found = rows(config)
    assert found["vm_memory_high_watermark.relative"].value == "0.5"
    assert "vm_memory_high_watermark.absolute" not in found
    assert found["disk_free_limit.absolute"] == ("disk_free_limit.absolute", "50000000", "default")
