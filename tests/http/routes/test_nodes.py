"""The node, in RabbitMQ's shape."""

import pytest

RABBITMQ = {
    *("applications", "auth_mechanisms", "being_drained", "channel_closed", "channel_created", "cluster_links"),
    *("config_files", "connection_closed", "connection_created", "contexts", "db_dir", "disk_free"),
    *("disk_free_alarm", "disk_free_limit", "enabled_plugins", "exchange_types", "fd_total", "fd_used", "log_files"),
    *("mem_alarm", "mem_calculation_strategy", "mem_limit", "mem_used", "name", "os_pid", "partitions", "processors"),
    *("queue_created", "queue_declared", "queue_deleted", "rates_mode", "running", "sockets_total", "sockets_used"),
    *("type", "uptime"),
}


def test_the_node(api, world):
    world.broker.alarms.set("memory", "much")
    (document,) = api.get("/api/nodes")
    assert document.keys() >= RABBITMQ
    assert (document["name"], document["running"], document["mem_alarm"]) == ("pybroker@vm", True, True)
    assert "memory" not in document
    assert api.get("/api/nodes/pybroker@vm?memory=true")["memory"]["total"]["rss"] == 100_000_000


def test_its_memory(api):
    parts = api.get("/api/nodes/pybroker@vm/memory")["memory"]
    assert sum(octets for octets in parts.values() if isinstance(octets, int)) == parts["total"]["rss"]
    assert api.get("/api/nodes/pybroker@vm/memory/relative")["memory"]["total"] == 100


def test_logins(api):
    api.get("/api/whoami", "x", status=401)
    http = api.get("/api/auth/attempts/pybroker@vm")[1]
    assert http == {
        "protocol": "http",
        "auth_attempts": 2,
        "auth_attempts_failed": 1,
        "auth_attempts_succeeded": 1,
    }
    assert api.get("/api/auth/attempts/pybroker@vm/source") == []


def test_its_configuration(api):
    assert api.get("/api/config/effective")[0] == {"key": "heartbeat", "value": "60", "source": "default"}


@pytest.mark.parametrize("path", ["nodes/x", "nodes/x/memory", "nodes/x/memory/relative", "auth/attempts/x"])
def test_there_is_no_other_node(api, path):
    api.get(f"/api/{path}", status=404)


@pytest.mark.parametrize("path", ["nodes", "nodes/pybroker@vm", "nodes/pybroker@vm/memory", "auth/attempts/x"])
def test_it_is_shown_to_those_who_monitor(api, ann, path):
    assert api.get(f"/api/{path}", "ann", status=401)["reason"] == "Not monitor user"
