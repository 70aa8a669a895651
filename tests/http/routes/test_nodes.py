"""The node, in RabbitMQ's shape."""

import pytest

from tests.http.conftest import DONE, NOT_FOUND

RABBITMQ = {
    *("applications", "auth_mechanisms", "being_drained", "channel_closed", "channel_created", "cluster_links"),
    *("config_files", "connection_closed", "connection_created", "contexts", "db_dir", "disk_free"),
    *("disk_free_alarm", "disk_free_limit", "enabled_plugins", "exchange_types", "fd_total", "fd_used", "log_files"),
    *("mem_alarm", "mem_calculation_strategy", "mem_limit", "mem_used", "name", "os_pid", "partitions", "processors"),
    *("proc_total", "proc_used"),
    *(
        "queue_created",
        "queue_declared",
        "queue_deleted",
        "rates_mode",
        "run_queue",
        "running",
        "sockets_total",
        "sockets_used",
    ),
    *("type", "uptime"),
}


def test_the_node(api, world):
    world.broker.alarms.set("memory", "much")
    (document,) = api.get("/api/nodes")
    assert document.keys() >= RABBITMQ
    assert (document["name"], document["running"], document["mem_alarm"]) == ("pybroker@vm", True, True)
    assert "rabbitmq_management" in document["enabled_plugins"]
    assert {each["name"] for each in document["applications"]} == {"pybroker", "rabbit"}
    assert "memory" not in document
    assert api.get("/api/nodes/pybroker@vm?memory=true")["memory"]["total"]["rss"] == 100_000_000


def test_its_memory(api):
    parts = api.get("/api/nodes/pybroker@vm/memory")["memory"]
    assert parts["total"]["rss"] == 100_000_000
    assert parts["strategy"] == api.get("/api/nodes")[0]["mem_calculation_strategy"] == "allocated"
    assert api.get("/api/nodes/pybroker@vm?memory=true")["memory"] == parts
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


def test_logins_are_counted_anew(api):
    for path in ("/api/auth/attempts/pybroker@vm", "/api/auth/attempts/pybroker@vm/source"):
        api.get("/api/whoami", "x", status=401)
        assert api.send("DELETE", path) == DONE
        assert [each["auth_attempts_failed"] for each in api.get("/api/auth/attempts/pybroker@vm")] == [0]


def test_samples_are_forgotten(api):
    api.samples.add_sample()
    for path in ("/api/reset", "/api/reset/pybroker@vm"):
        api.get("/api/queues?lengths_age=10&lengths_incr=5")
        assert api.send("DELETE", path) == DONE
        assert "avg" not in api.get("/api/overview?lengths_age=10&lengths_incr=5")["queue_totals"]["messages_details"]


@pytest.mark.parametrize("path", ["auth/attempts/pybroker@vm", "reset", "reset/pybroker@vm"])
def test_only_administrators_forget(api, ann, path):
    assert api.send("DELETE", f"/api/{path}", None, "monitoring")[1]["reason"] == "Not administrator user"


def test_its_configuration(api):
    assert api.get("/api/config/effective")[0] == {"key": "heartbeat", "value": "60", "source": "default"}


@pytest.mark.parametrize("path", ["nodes/x", "nodes/x/memory", "nodes/x/memory/relative", "auth/attempts/x"])
def test_there_is_no_other_node(api, path):
    api.get(f"/api/{path}", status=404)


@pytest.mark.parametrize("path", ["reset/x", "auth/attempts/x", "auth/attempts/x/source"])
def test_nothing_is_forgotten_at_another_node(api, path):
    assert api.send("DELETE", f"/api/{path}") == NOT_FOUND


@pytest.mark.parametrize("path", ["nodes", "nodes/pybroker@vm", "nodes/pybroker@vm/memory", "auth/attempts/x"])
def test_it_is_shown_to_those_who_monitor(api, ann, path):
    assert api.get(f"/api/{path}", "ann", status=401)["reason"] == "Not monitor user"
