"""Super streams, and clients of the stream protocol, over HTTP."""

from urllib.parse import quote

import pytest

from pybroker.wire.stream.commands import ConsumerUpdated, StoreOffset
from tests.http.conftest import DONE, MADE, NO_VHOST, NOT_FOUND, VHOST_NOT_FOUND, bad
from tests.stream_peer import StreamPeer

PATH = "/api/stream/super-streams/%2F/x"


def test_a_super_stream_with_numbered_partitions(api):
    assert api.send("PUT", PATH, {"partitions": 2, "arguments": {"x-max-age": "1h", "max-length-bytes": "9"}}) == MADE
    assert [queue["name"] for queue in api.get("/api/queues")] == ["x-0", "x-1"]
    assert api.get("/api/exchanges/%2F/x")["arguments"] == {"x-super-stream": True}
    assert api.get("/api/queues/%2F/x-1")["arguments"] == {
        "x-queue-type": "stream",
        "x-max-age": "1h",
        "x-max-length-bytes": 9,
    }


def test_one_with_keys(api):
    assert api.send("PUT", PATH, {"binding-keys": "emea, apac,"}) == MADE
    bindings = api.get("/api/exchanges/%2F/x/bindings/source")
    assert [(each["routing_key"], each["destination"]) for each in bindings] == [("apac", "x-apac"), ("emea", "x-emea")]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "Must specify partitions or binding keys"),
        ({"partitions": 1, "binding-keys": "a"}, "Specify partitions or binding keys, not both"),
        ({"partitions": 0}, "Bad argument: a super stream has from 1 to 1000 partitions"),
        ({"partitions": 1_001}, "Bad argument: a super stream has from 1 to 1000 partitions"),
        ({"partitions": "many"}, ["not_integer", "many"]),
        ({"binding-keys": " , "}, "Bad argument: a super stream has from 1 to 1000 partitions"),
        ({"partitions": 1, "arguments": {"x-max-length": 5}}, "a super stream has no argument x-max-length"),
        ({"partitions": 1, "arguments": {"x-max-age": 5}}, "x-max-age is not a text"),
    ],
)
def test_what_cannot_be_is_refused(api, given, reason):
    assert api.send("PUT", PATH, given) == bad(reason)
    assert api.get("/api/queues") == []


def test_what_exists_is_no_new_one(api):
    api.send("PUT", PATH, {"partitions": 1})
    status, answer = api.send("PUT", PATH, {"partitions": 1})
    assert (status, answer["error"]) == (400, "bad_request")
    assert "exists already" in answer["reason"]


def test_the_virtual_host_has_to_exist(api):
    assert api.send("PUT", "/api/stream/super-streams/none/x", {"partitions": 1}) == VHOST_NOT_FOUND


# -- clients ----------------------------------------------------------------------------------------------------------

ONE = ("127.0.0.1", 50_001)
NAME = quote("127.0.0.1:50001 -> 127.0.0.1:5552", safe="")
DETAILS = {
    "name": "127.0.0.1:50001 -> 127.0.0.1:5552",
    "node": "pybroker@vm",
    "peer_host": "127.0.0.1",
    "peer_port": 50_001,
    "user": "guest",
}
QUEUE = {"name": "s", "vhost": "/"}


@pytest.fixture
def client(world):
    """A client of the stream protocol that has published three messages, and read them."""
    peer = StreamPeer(world, peer=ONE)
    peer.create()
    peer.declare(publisher_id=7, reference="billing")
    peer.publish(b"a", b"b", b"c", publisher_id=7)
    peer.subscribe(subscription_id=3, credit=10, name="reader")
    return peer


@pytest.fixture
def others(world, ann):
    """A client of ann in another virtual host, and one of AMQP."""
    world.connect()
    peer = StreamPeer(world, user=ann, password=ann, vhost="other", peer=("127.0.0.1", 50_002))
    peer.create()
    peer.declare()
    peer.subscribe()
    return peer


def test_a_publisher(api, client, others):
    document = {
        "confirmed": 3,
        "connection_details": DETAILS,
        "errored": 0,
        "published": 3,
        "publisher_id": 7,
        "queue": QUEUE,
        "reference": "billing",
    }
    for path in ("publishers/%2F", "publishers/%2F/s", f"connections/%2F/{NAME}/publishers"):
        assert api.get(f"/api/stream/{path}") == [document]
    everywhere = api.get("/api/stream/publishers")
    assert [(each["queue"]["vhost"], each["reference"]) for each in everywhere] == [("/", "billing"), ("other", "")]


def test_a_consumer_of_chunks(api, client, others):
    document = {
        "connection_details": DETAILS,
        "consumed": 3,
        "credits": 9,
        "offset": 2,
        "offset_lag": 0,
        "properties": {"name": "reader"},
        "queue": QUEUE,
        "subscription_id": 3,
    }
    for path in ("consumers/%2F", f"connections/%2F/{NAME}/consumers"):
        assert api.get(f"/api/stream/{path}") == [document]
    assert [each["queue"]["vhost"] for each in api.get("/api/stream/consumers")] == ["/", "other"]


def test_a_consumer_without_credit_falls_behind(api, client):
    client.subscribe(subscription_id=4, credit=0)
    (_, document) = api.get("/api/stream/consumers")
    assert (document["credits"], document["consumed"], document["offset"], document["offset_lag"]) == (0, 0, 0, 3)


def test_connections_of_the_protocol(api, client, others):
    (document,) = api.get("/api/stream/connections/%2F")
    assert (document["protocol"], document["channels"], document["vhost"]) == ("stream", 0, "/")
    assert api.get(f"/api/stream/connections/%2F/{NAME}") == document
    assert [each["vhost"] for each in api.get("/api/stream/connections")] == ["/", "other"]
    assert api.get("/api/stream/connections?page=1")["total_count"] == 2
    assert len(api.get("/api/connections")) == 3


def test_connections_without_figures(api, client):
    assert api.get("/api/stream/connections?disable_stats=true") == [
        {"name": DETAILS["name"], "node": "pybroker@vm", "user": "guest", "vhost": "/"}
    ]
    assert api.get(f"/api/stream/connections/%2F/{NAME}?disable_stats=true") == {"name": DETAILS["name"]}
    for path in ("publishers", "consumers", "publishers/%2F/s"):
        answer = api.send("GET", f"/api/stream/{path}?disable_stats=true")
        assert answer == bad("Stats in management UI are disabled on this node")


def test_connections_are_closed_with_a_reason(api, client, others):
    amqp = quote("127.0.0.1:40000 -> 127.0.0.1:5672", safe="")
    for path in (f"other/{NAME}", "%2F/none", f"%2F/{amqp}"):
        assert api.send("DELETE", f"/api/stream/connections/{path}") == NOT_FOUND
    assert api.send("DELETE", f"/api/stream/connections/%2F/{NAME}", headers={"X-Reason": "it is time"}) == DONE
    client.world.run()
    assert (client.session.finished, client.session.reason) == (True, "it is time")
    assert not others.session.finished


def test_clients_are_seen_by_their_user_and_those_who_monitor(api, client, others, ann):
    client.world.broker.users.set_permissions(ann, "/", ".*", ".*", ".*")
    for kind in ("connections", "publishers", "consumers"):
        assert len(api.get(f"/api/stream/{kind}", ann)) == 1
        assert api.get(f"/api/stream/{kind}/%2F", ann) == []
        api.get(f"/api/stream/{kind}", "none", status=401)
        api.get(f"/api/stream/{kind}/none", status=404)
    for tail in ("", "/publishers", "/consumers"):
        api.get(f"/api/stream/connections/%2F/{NAME}{tail}", ann, status=404)
        api.get(f"/api/stream/connections/other/{NAME}{tail}", status=404)
    api.get("/api/stream/publishers/%2F/none", status=404)
    assert api.get("/api/stream/publishers/%2F/s", ann) == []


def test_no_virtual_host_is_told_of_that_the_user_may_not_enter(api, ann):
    for kind in ("connections", "publishers", "consumers"):
        assert api.get(f"/api/stream/{kind}/other", ann) == []
        assert api.send("GET", f"/api/stream/{kind}/%2F", user=ann) == NO_VHOST


def test_a_queue_has_no_publishers_of_streams(api, peer):
    peer.declare("q")
    assert api.get("/api/stream/publishers/%2F/q") == []


def test_subscriptions_are_consumers_without_a_channel(api, client):
    (consumer,) = api.get("/api/consumers")
    details = consumer["channel_details"]
    assert (details["name"], details["number"], details["connection_name"]) == ("", 0, DETAILS["name"])
    assert (consumer["ack_required"], consumer["next_offset"], consumer["lag"]) == (False, 3, 0)
    assert api.get("/api/queues/%2F/s")["consumer_details"] == [consumer]
    assert api.get("/api/channels") == api.get(f"/api/connections/{NAME}/channels") == []


def test_one_subscription_of_a_group_is_active(api, client):
    for number in (4, 5):
        client.subscribe(subscription_id=number, **{"name": "group", "single-active-consumer": "true"})
    (update,) = client.take(26)
    client.send(ConsumerUpdated(int.from_bytes(update.content[:4]), 1, None))
    found = [(each["active"], each["activity_status"]) for each in api.get("/api/consumers")]
    assert found == [(True, "up"), (True, "single_active"), (False, "waiting")]
    waiting = api.get("/api/stream/consumers")[-1]
    assert (waiting["consumed"], waiting["offset"], waiting["offset_lag"]) == (0, 0, 0)


def test_the_overview_counts_clients_of_streams(api, client):
    totals = api.get("/api/overview")["object_totals"]
    assert (totals["channels"], totals["connections"], totals["consumers"]) == (0, 1, 1)


def test_tracking_of_a_stream(api, client, ann):
    client.send(StoreOffset("reader", "s", 1))
    path = "/api/stream/%2F/s/tracking"
    both = {"offsets": {"reader": 1}, "writers": {"billing": 3}}
    assert api.get(path) == api.get(f"{path}?type=odd") == both
    assert api.get(f"{path}?type=offset") == {"offsets": {"reader": 1}}
    assert api.get(f"{path}?type=writer") == {"writers": {"billing": 3}}
    assert api.send("GET", f"{path}?disable_stats=true")[0] == 400
    assert api.send("GET", path, user=ann) == NO_VHOST
    api.get("/api/stream/%2F/none/tracking", status=404)


def test_a_queue_tracks_nothing(api, peer):
    peer.declare("q")
    answer = {"error": "service_unavailable", "reason": "The stream leader is not available"}
    assert api.send("GET", "/api/stream/%2F/q/tracking") == (503, answer)
