"""Queues, in RabbitMQ's shape."""

import pytest

# Of RabbitMQ 3.10.8, without what only Erlang has, and what it would have to remember.
RABBITMQ = {
    *("arguments", "auto_delete", "consumer_capacity", "consumer_details", "consumer_utilisation", "consumers"),
    *("durable", "effective_policy_definition", "exclusive", "exclusive_consumer_tag", "head_message_timestamp"),
    *("memory", "message_bytes", "message_bytes_paged_out", "message_bytes_persistent", "message_bytes_ram"),
    *("message_bytes_ready", "message_bytes_unacknowledged", "messages", "messages_paged_out", "messages_persistent"),
    *("messages_ram", "messages_ready", "messages_ready_ram", "messages_unacknowledged"),
    *("messages_unacknowledged_ram", "name", "node", "operator_policy", "policy", "single_active_consumer_tag"),
    *("state", "type", "vhost"),
}


@pytest.fixture
def queues(peer):
    peer.declare("b", arguments={"x-max-length": 10})
    peer.declare("a", exclusive=True)
    peer.consume("b", tag="ct")
    return peer


def test_one_queue(api, queues):
    document = api.get("/api/queues/%2F/b")
    assert document.keys() >= RABBITMQ
    assert (document["arguments"], document["state"], document["node"]) == (
        {"x-max-length": 10},
        "running",
        "pybroker@vm",
    )
    assert "owner_pid_details" not in document
    (consumer,) = document["consumer_details"]
    assert (consumer["consumer_tag"], consumer["queue"]) == ("ct", {"name": "b", "vhost": "/"})
    assert consumer["channel_details"]["number"] == 1


def test_an_exclusive_one_has_an_owner(api, queues):
    owner = api.get("/api/queues/%2F/a")["owner_pid_details"]
    assert (owner["peer_host"], owner["peer_port"]) == ("127.0.0.1", 40_000)


@pytest.mark.parametrize("path", ["/api/queues", "/api/queues/%2F", "/api/queues/detailed"])
def test_lists(api, queues, path):
    assert [each["name"] for each in api.get(path)] == ["a", "b"]


def test_a_list_has_less_unless_it_is_asked_for_more(api, queues):
    basic, detailed = api.get("/api/queues")[1], api.get("/api/queues/detailed")[1]
    assert basic.keys() < detailed.keys()
    assert {"messages", "memory", "consumers", "policy"} <= basic.keys()
    assert api.get("/api/queues?columns=messages_ram")[1] == {"messages_ram": 0}


def test_without_statistics(api, queues):
    names = api.get("/api/queues?disable_stats=true")[1]
    assert "messages" not in names
    totals = api.get("/api/queues?disable_stats=true&enable_queue_totals=true")[1]
    assert totals.keys() - names.keys() == {"messages", "messages_ready", "messages_unacknowledged"}


def test_bindings_of_a_queue(api, queues):
    (found,) = api.get("/api/queues/%2F/b/bindings")
    assert (found["source"], found["destination"], found["properties_key"]) == ("", "b", "b")


@pytest.mark.parametrize(
    "path", ["/api/queues/%2F/c", "/api/queues/none", "/api/queues/none/q", "/api/queues/%2F/c/bindings"]
)
def test_what_is_not_there(api, queues, path):
    assert api.get(path, status=404) == {"error": "Object Not Found", "reason": "Not Found"}
