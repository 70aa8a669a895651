"""A real daemon with a configuration file in each form: its log, its environment, its status."""

import json

import pika
import pytest

from pybroker.daemon.config.load import FOLDER
from tests.daemon.running import Running

BOTH = "Both {0}.absolute and {0}.relative are configured. {0}.absolute has precedence ({1}:{2}, {1}:{3})"


@pytest.fixture
def start(tmp_path):
    started = []

    def start(text, name):
        file = tmp_path / name
        file.write_text(text)
        # Other daemons run at the same time.
        (tmp_path / FOLDER).mkdir(exist_ok=True)
        (tmp_path / FOLDER / "stream.conf").write_text("stream.listeners.tcp = none\n")
        started.append(Running(tmp_path, "--config", str(file)))
        return started[-1], file

    yield start
    for running in started:
        code, stderr = running.stop()
        assert (0, "") == (code, stderr)


def limits(running):
    """Return value and source of what is configured, by key."""
    rows = json.loads(running.ctl("environment", "--formatter", "json"))
    return {
        key: (row["value"], row["source"])
        for key, row in rows.items()
        if row["source"] != "default" and key.startswith(("vm_", "disk_", "total_", "memory_"))
    }


def test_b12_d2_the_newer_form_with_both_forms_of_each_limit(start):
    text = """
listeners.tcp.a = 127.0.0.1:0
vm_memory_high_watermark.relative = 0.5
vm_memory_high_watermark.absolute = 953MiB
disk_free_limit.absolute = 1GB
disk_free_limit.relative = 2.0
total_memory_available_override_value = 8GiB
"""
    running, file = start(text, "pybroker.conf")
    log = running.log
    assert BOTH.format("vm_memory_high_watermark", file, 3, 4) in log
    assert BOTH.format("disk_free_limit", file, 5, 6) in log
    assert "Memory limit set to 953MB. (999292928 octets of 8589934592, configured)" in log
    assert "Disk free limit set to 953MB (1000000000 octets)" in log
    assert limits(running) == {
        "vm_memory_high_watermark.absolute": ("953MiB", f"{file}:4"),
        "disk_free_limit.absolute": ("1GB", f"{file}:5"),
        "total_memory_available_override_value": ("8GiB", f"{file}:7"),
    }


def test_b12_c3_d3_the_classic_form_of_the_documents(start):
    text = """%% The documents' examples in one file.
[{rabbit, [{tcp_listeners, [{"127.0.0.1", 0}]},
           {vm_memory_high_watermark_paging_ratio, 0.75},
           {vm_memory_high_watermark, 0.4},
           {total_memory_available_override_value, 1000000000},
           {disk_free_limit, {mem_relative, 1.0}}]}].
"""
    running, file = start(text, "rabbitmq.config")
    assert "Memory limit set to 381MB. (400000000 octets of 1000000000, configured)" in running.log
    assert "Disk free limit set to 953MB (1000000000 octets)" in running.log
    assert "[warning]" not in running.log
    assert limits(running) == {
        "vm_memory_high_watermark_paging_ratio": ("0.75", f"{file}:3"),
        "vm_memory_high_watermark.relative": ("0.4", f"{file}:4"),
        "total_memory_available_override_value": ("1000000000", f"{file}:5"),
        "disk_free_limit.relative": ("1.0", f"{file}:6"),
    }
    assert json.loads(running.ctl("status", "--formatter", "json"))["vm_memory_high_watermark_limit"] == 400_000_000
    # B15, B1: what is set meanwhile holds until the stop; how much there is stays as configured.
    running.ctl("set_vm_memory_high_watermark", "0.5")
    assert limits(running)["vm_memory_high_watermark.relative"] == ("0.5", "pybrokerctl")
    assert "Memory limit set to 476MB. (500000000 octets of 1000000000, configured)" in running.log


def test_the_nodes_default_queue_type_is_that_of_virtual_hosts_without_one(start):
    running, _file = start("listeners.tcp.a = 127.0.0.1:0\ndefault_queue_type = quorum\n", "pybroker.conf")
    running.ctl("add_vhost", "own", "--default-queue-type", "classic")
    parts = running.ctl("-q", "list_vhosts", "name", "default_queue_type", "--formatter", "json")
    assert {each["name"]: each["default_queue_type"] for each in json.loads(parts)} == {"/": "quorum", "own": "classic"}
    exported = json.loads(running.ctl("-q", "export_definitions", "-"))
    assert {each["name"]: each["metadata"].get("default_queue_type") for each in exported["vhosts"]} == {
        "/": None,
        "own": "classic",
    }
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", running.port)) as connection:
        connection.channel().queue_declare("q", durable=True)
    assert "q\tquorum" in running.ctl("-q", "list_queues", "name", "type")


OF_NEW_VHOSTS = """
listeners.tcp.a = 127.0.0.1:0
default_limits.vhosts.teams.pattern = ^team-
default_limits.vhosts.teams.max_queues = 5
default_policies.operator.short.vhost_pattern = ^team-
default_policies.operator.short.message_ttl = 1m
default_users.ops.vhost_pattern = ^team-
default_users.ops.password = secret
default_users.ops.write = ^w
"""


def test_what_is_configured_for_new_virtual_hosts_is_there_and_outlives_the_daemon(start):
    running, file = start(OF_NEW_VHOSTS, "pybroker.conf")
    running.ctl("add_vhost", "team-a")
    running.stop()
    file.write_text("listeners.tcp.a = 127.0.0.1:0\n")
    running, _file = start(file.read_text(), file.name)
    assert '{"max-queues":5}' in running.ctl("-q", "list_vhost_limits", "-p", "team-a")
    (policy,) = json.loads(running.ctl("-q", "list_operator_policies", "-p", "team-a", "--formatter", "json"))
    assert ("short", ".*", '{"message-ttl":60000}') == tuple(policy[key] for key in ("name", "pattern", "definition"))
    assert "Success" in running.ctl("authenticate_user", "ops", "secret")
    assert "ops\t.*\t^w\t.*" in running.ctl("-q", "list_permissions", "-p", "team-a")
