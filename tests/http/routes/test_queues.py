"""Queues, in RabbitMQ's shape."""

from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from pybroker.http.routes.queues import ACK_MODES
from tests.fakes import Basic
from tests.http.conftest import DONE, MADE, NO_VHOST, NOT_FOUND, VHOST_NOT_FOUND, bad, refused

# Of RabbitMQ 3.10.8, without what only Erlang has, and what it would have to remember.
RABBITMQ = {
    *("arguments", "auto_delete", "consumer_capacity", "consumer_details", "consumer_utilisation", "consumers"),
    *(
        "deliveries",
        "durable",
        "incoming",
        "idle_since",
        "effective_policy_definition",
        "exclusive",
        "exclusive_consumer_tag",
        "head_message_timestamp",
    ),
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
    assert datetime.fromisoformat(document["idle_since"]).tzinfo is UTC
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
    assert api.get("/api/queues/%2F/none/bindings") == []
    assert (found["source"], found["destination"], found["properties_key"]) == ("", "b", "b")


@pytest.mark.parametrize(
    "path", ["/api/queues/%2F/c", "/api/queues/none", "/api/queues/none/q", "/api/queues/none/q/bindings"]
)
def test_what_is_not_there(api, queues, path):
    assert api.get(path, status=404) == {"error": "Object Not Found", "reason": "Not Found"}


# -- declared, deleted, purged ----------------------------------------------------------------------------------------


def test_a_queue_is_declared_once(api, world):
    what = {"durable": True, "auto_delete": "false", "arguments": {"x-max-length": 5}}
    assert api.send("PUT", "/api/queues/%2F/a%2Fb", what) == MADE
    assert api.send("PUT", "/api/queues/%2F/a%2Fb", what) == DONE
    document = api.get("/api/queues/%2F/a%2Fb")
    assert (document["durable"], document["arguments"]) == (True, {"x-max-length": 5})
    assert api.send("PUT", "/api/queues/%2F/none", {"passive": True})[1]["reason"] == "no queue 'none' in vhost '/'"
    assert set(world.vhost.queues) == {"a/b"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("nojson", "not_json"),
        ("[]", "not_json"),
        ("NaN", "not_json"),
        ('{"arguments": {"a": "\\ud800"}}', "not_json"),
        ('"x"', "invalid payload: the request body JSON-decoded to a string. Is the input doubly-JSON-encoded?"),
        ('{"durable": 5}', ["not_boolean", 5]),
        ('{"arguments": {"a": null}}', "null_not_allowed"),
        ('{"node": "other@here"}', "Node other@here could not be contacted"),
        ('{"exclusive": true}', "an exclusive queue belongs to a connection: it cannot be declared over HTTP"),
        (
            '{"arguments": {"x-message-ttl": "x"}}',
            """invalid arg 'x-message-ttl' for queue 'q' in vhost '/': "expected integer, got longstr\"""",
        ),
    ],
)
def test_bad_declarations(api, body, reason):
    response = api.request("PUT", "/api/queues/%2F/q", data=body)
    assert (response.status_code, response.get_json()) == bad(reason)


def test_no_body_is_an_empty_one(api):
    for number, body in enumerate(("", "null", "undefined", "{}")):
        assert api.request("PUT", f"/api/queues/%2F/q{number}", data=body).status_code == 201


def test_who_may_declare(api, ann, world):
    world.broker.users.set_permissions("ann", "other", "^a", "", "")
    assert api.send("PUT", "/api/queues/other/a", {}, ann) == MADE
    assert api.send("PUT", "/api/queues/other/b", {}, ann) == refused(
        "configure access to queue 'b' in vhost 'other' refused for user 'ann'"
    )
    assert api.send("PUT", "/api/queues/%2F/a", {}, ann) == NO_VHOST
    assert api.send("PUT", "/api/queues/none/a", {}) == VHOST_NOT_FOUND
    assert api.send("PUT", "/api/queues/%2F/amq.a", {}) == refused(
        "queue name 'amq.a' contains reserved prefix 'amq.*'"
    )


def test_a_monitor_changes_nothing(api, ann, world, queues):
    # RabbitMQ's advisories CVE-2026-66069, CVE-2026-67233: the tag let its users delete.
    peer = world.connect(peer=("127.0.0.1", 40_009))
    for method, path in [
        ("DELETE", "/api/queues/%2F/b"),
        ("DELETE", "/api/queues/%2F/b/contents"),
        ("PUT", "/api/queues/%2F/c"),
        ("DELETE", "/api/exchanges/%2F/e"),
        ("PUT", "/api/policies/%2F/p"),
        ("DELETE", "/api/vhosts/other"),
        ("DELETE", "/api/users/ann"),
        ("DELETE", f"/api/connections/{quote(peer.session.name)}"),
        ("DELETE", "/api/connections/username/guest"),
    ]:
        assert api.send(method, path, {}, "monitoring")[0] == 401, path
    assert "b" in world.vhost.queues
    assert peer.take(0) == []


def test_deletion_has_conditions(api, queues):
    in_use = bad("queue 'b' in vhost '/' in use")
    assert api.send("DELETE", "/api/queues/%2F/b?if-unused=true") == in_use
    queues.declare("c")
    queues.publish("", "c")
    assert api.send("DELETE", "/api/queues/%2F/c?if-empty=true") == bad("queue 'c' in vhost '/' not empty")
    assert api.send("DELETE", "/api/queues/%2F/c/contents") == DONE
    assert api.send("DELETE", "/api/queues/%2F/c?if-empty=true") == DONE
    assert api.send("DELETE", "/api/queues/%2F/b") == DONE
    for path in ("/api/queues/%2F/b", "/api/queues/%2F/b/contents", "/api/queues/none/b"):
        assert api.send("DELETE", path) == NOT_FOUND
    assert api.send("DELETE", "/api/queues/%2F/a")[0] == 400, "it is the exclusive one of a connection"


def test_actions_do_nothing(api, queues):
    assert api.send("POST", "/api/queues/%2F/b/actions", {"action": "sync"}) == DONE
    assert api.send("POST", "/api/queues/%2F/b/actions", {"action": "odd"}) == bad(["unknown", "odd"])
    assert api.send("POST", "/api/queues/%2F/b/actions", {}) == bad("[{key_missing,action}]")
    assert api.send("POST", "/api/queues/%2F/none/actions", {"action": "sync"}) == NOT_FOUND


# -- messages ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def get(api, peer):
    peer.declare("dead")
    peer.declare("q", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    for body in (b"one", b"\xff" * 60_000, b"three"):
        peer.publish("", "q", body, priority=3)

    def get(mode, count=1, **more):
        body = {"ackmode": mode, "count": count, "encoding": "auto", **more}
        status, found = api.send("POST", "/api/queues/%2F/q/get", body)
        assert status == 200, found
        return [(each["payload"][:8], each["redelivered"], each["message_count"]) for each in found]

    return get


def test_messages_go_back(get, world):
    assert get("ack_requeue_true", 5) == [("one", False, 2), ("////////", False, 1), ("three", False, 0)]
    assert get("reject_requeue_true") == [("one", True, 2)]
    assert get("ack_requeue_true", "1", truncate="2") == [("on", True, 2)]
    assert world.vhost.queues["q"].messages_ready == 3
    assert get("ack_requeue_true", 0) == []


def test_messages_are_gone(get, world, peer):
    assert get("ack_requeue_false") == [("one", False, 2)]
    assert get("ack_requeue_false", encoding="base64") == [("////////", False, 1)]
    assert get("reject_requeue_false") == [("three", False, 0)]
    world.run()
    assert world.vhost.queues["q"].messages == 0
    assert peer.get("dead").body == b"three"


def test_a_message_bears_its_properties(get, api):
    body = {"ackmode": "ack_requeue_true", "count": 1, "encoding": "auto"}
    (found,) = api.send("POST", "/api/queues/%2F/q/get", body)[1]
    assert (found["properties"], found["payload_bytes"], found["routing_key"]) == ({"priority": 3}, 3, "q")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"count": "x"}, ["not_integer", "x"]),
        ({"encoding": "hex"}, "Unsupported encoding. Please use auto or base64."),
        (
            {"ackmode": "odd"},
            f"Unsupported ackmode. Please use one of {', '.join(ACK_MODES)}.",
        ),
        ({"ackmode": {}}, f"Unsupported ackmode. Please use one of {', '.join(ACK_MODES)}."),
    ],
)
def test_bad_questions_for_messages(api, get, more, reason):
    body = {"ackmode": "ack_requeue_true", "count": 1, "encoding": "auto", **more}
    assert api.send("POST", "/api/queues/%2F/q/get", body) == bad(reason)


def test_who_may_get(api, ann, world, get):
    body = {"ackmode": "ack_requeue_true", "count": 1, "encoding": "auto"}
    assert api.send("POST", "/api/queues/%2F/q/get", {})[1]["reason"] == (
        "[{key_missing,ackmode},{key_missing,count},{key_missing,encoding}]"
    )
    missing = {"error": "not_found", "reason": "NOT_FOUND - no queue 'none' in vhost '/'"}
    assert api.send("POST", "/api/queues/%2F/none/get", body) == (404, missing)
    assert api.send("POST", "/api/queues/%2F/q/get", body, ann) == NO_VHOST
    world.broker.users.set_permissions("ann", "/", ".*", ".*", "")
    text = "read access to queue 'q' in vhost '/' refused for user 'ann'"
    assert api.send("POST", "/api/queues/%2F/q/get", body, ann) == (
        401,
        {"error": "not_authorised", "reason": f"ACCESS_REFUSED - {text}"},
    )
    assert api.send("DELETE", "/api/queues/%2F/q/contents", None, ann) == refused(text)


@pytest.fixture
def many(api, peer):
    for number in range(5):
        peer.declare(f"m{number}")
        for _ in range(5 - number):
            peer.publish("", f"m{number}", b"x")
    return api


@pytest.mark.parametrize(
    "query",
    [
        *("", "sort=name", "sort=messages", "sort=messages&sort_reverse=true", "sort=message_stats.publish", "sort="),
        *(
            "sort=message_stats.publish_details.rate",
            "name=[m.]&use_regex=true",
            "columns=name,messages",
            "sort=policy",
        ),
    ],
)
@pytest.mark.parametrize("path", ["/api/queues", "/api/queues/detailed", "/api/queues/%2F", "/api/exchanges"])
def test_a_page_is_a_part_of_the_list(many, path, query):
    whole = many.get(f"{path}?page=1&page_size=500&{query}")
    pages = [many.get(f"{path}?page={number}&page_size=2&{query}") for number in (1, 2)]
    assert [each for page in pages for each in page["items"]] == whole["items"][:4]
    assert all(page["item_count"] == len(page["items"]) for page in pages)


def test_only_the_objects_of_a_page_are_read_whole(many, node):
    node.asked.clear()
    found = many.get("/api/queues?page=2&page_size=2&sort=messages&sort_reverse=true")
    assert [each["messages"] for each in found["items"]] == [3, 2]
    assert found["items"][0]["message_stats"]["publish"] == 3
    # The virtual hosts, the order, the page.
    assert node.asked.count("object_rows") == 3
    assert many.get("/api/queues?page=1&name=none")["items"] == []


# Members that RabbitMQ 3.10.8 has of a stream, without those that only Erlang has.
STREAM = {
    *("arguments", "auto_delete", "consumer_details", "consumers", "deliveries", "durable"),
    *("effective_policy_definition", "exclusive", "incoming", "members", "memory", "message_stats", "messages"),
    *("messages_details", "messages_ready", "messages_unacknowledged", "name", "node", "online", "operator_policy"),
    *("policy", "readers", "state", "type", "vhost"),
}


@pytest.fixture
def stream(peer):
    peer.declare("s", {"x-queue-type": "stream", "x-max-age": "1h"}, durable=True)
    peer.call(Basic.Qos(prefetch_count=1))
    for body in (b"a", b"b", b"c"):
        peer.publish("", "s", body)
    peer.consume("s", tag="ct", arguments={"x-stream-offset": "first"})
    return peer


def test_a_stream_has_offsets_and_no_head(api, stream):
    document = api.get("/api/queues/%2F/s")
    assert document.keys() >= STREAM
    assert not {"stream", "head_age_ms", "time_to_drain_s", "idle_since"} & document.keys()
    found = {name: document[name] for name in ("messages", "messages_ready", "messages_unacknowledged", "type")}
    assert found == {"messages": 3, "messages_ready": 3, "messages_unacknowledged": 1, "type": "stream"}
    assert {name: document[name] for name in ("first_offset", "committed_offset", "segments", "last_chunk_at")} == {
        "first_offset": 0,
        "committed_offset": 2,
        "segments": document["segments"],
        "last_chunk_at": document["last_chunk_at"],
    }
    assert (document["members"], document["online"], document["readers"]) == (
        ["pybroker@vm"],
        ["pybroker@vm"],
        {"pybroker@vm": 1},
    )
    (consumer,) = document["consumer_details"]
    assert (consumer["next_offset"], consumer["lag"], "stream" in consumer) == (1, 2, False)


def test_streams_stand_in_lists_with_the_columns_that_are_asked_for(api, stream):
    stream.take()
    stream.declare("q")
    assert api.get("/api/queues?columns=name,committed_offset,segments&sort=name") == [
        {"name": "q"},
        {"name": "s", "committed_offset": 2, "segments": api.get("/api/queues/%2F/s")["segments"]},
    ]
    assert [("members" in each, "stream" in each) for each in api.get("/api/queues")] == [(False, False), (True, False)]
    (consumer,) = api.get("/api/consumers")
    assert consumer["lag"] == 2


def test_a_stream_gives_no_single_message_and_is_not_purged(api, stream):
    wanted = {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"}
    name = "queue 's' in vhost '/'"
    assert api.send("POST", "/api/queues/%2F/s/get", wanted) == bad(
        f"540 basic.get not supported by stream queues {name}"
    )
    assert api.send("DELETE", "/api/queues/%2F/s/contents") == bad(f"queue.purge not supported by stream queues {name}")


def test_a_stream_is_declared_as_over_amqp(api):
    stream = {"durable": True, "arguments": {"x-queue-type": "stream", "x-max-age": "5x"}}
    name = "queue 's' in vhost '/'"
    assert api.send("PUT", "/api/queues/%2F/s", stream) == bad(f"invalid arg 'x-max-age' for {name}: invalid_max_age")
    stream["arguments"]["x-max-age"] = "5D"
    assert api.send("PUT", "/api/queues/%2F/s", stream | {"durable": False}) == bad(
        f"invalid property 'non-durable' for {name}"
    )
    assert api.send("PUT", "/api/queues/%2F/s", stream) == MADE
