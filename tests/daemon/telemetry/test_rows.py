"""The contents of rows, read off a broker in the test's hand."""

import psutil
import pytest

from pybroker.core.stats.drops import DropCounts
from pybroker.daemon.telemetry import rows
from tests.fakes import Basic, World


@pytest.fixture
def world():
    return World()


def test_a_queue_has_gauges_limits_and_totals(world):
    peer = world.connect()
    peer.declare("q", {"x-max-length": 10})
    for _ in range(3):
        peer.publish("", "q", b"12345")
    peer.get("q")
    queue = world.vhost.queues["q"]
    row = rows.of_queue(queue)
    assert (row["vhost"], row["queue"], row["queue_id"], row["type"]) == ("/", "q", queue.id, "classic")
    assert (row["ready"], row["unacked"], row["bytes"], row["length_max"], row["octets_max"]) == (2, 0, 10, 10, None)
    assert (row["publish_total"], row["deliver_total"], row["state"]) == (3, 1, "running")


def test_a_queue_has_the_targets_of_its_policy(world):
    world.connect().declare("q")
    queue, parameters = world.vhost.queues["q"], world.broker.parameters
    assert "head_age_target_ms" not in rows.of_queue(queue)
    value = {"pattern": "", "definition": {"head-age-target": 60_000}, "priority": 0}
    parameters.set("/", "policy", "p", value)
    row = rows.of_queue(queue)
    assert row["head_age_target_ms"] == 60_000
    assert "time_to_consume_target_ms" not in row
    operators = {"head-age-target": 5_000, "time-to-consume-target": 1_000, "max-length": 5}
    parameters.set("/", "operator_policy", "o", value | {"definition": operators})
    row = rows.of_queue(queue)
    assert (row["head_age_target_ms"], row["time_to_consume_target_ms"], row["length_max"]) == (5_000, 1_000, 5)


def test_a_queue_has_the_ages_of_its_messages(world):
    peer = world.connect()
    peer.declare("q")
    queue = world.vhost.queues["q"]
    row = rows.of_queue(queue)
    assert (row["head_age_ms"], row["unacknowledged_age_ms"]) == (None, None)
    for _ in range(2):
        peer.publish("", "q", b"12345")
        world.advance(1_500)
    peer.get("q", no_ack=False)
    world.broker.ages.search(print)
    row = rows.of_queue(queue)
    assert (row["head_age_ms"], row["unacknowledged_age_ms"]) == (1_500, 3_000)


def test_a_queue_is_active_when_something_happened_to_it(world):
    peer = world.connect()
    peer.declare("q")
    queue = world.vhost.queues["q"]
    before = rows.queue_activity(queue)
    assert rows.queue_activity(queue) == before
    peer.publish("", "q", b"")
    peer.get("q")
    assert rows.queue_activity(queue) != before


def test_a_connection_says_for_how_long_it_was_held(world):
    peer = world.connect()
    peer.declare("q")
    peer.publish("", "q", b"")
    world.broker.alarms.set("memory", "short")
    peer.publish("", "q", b"")  # with the next publish it is blocked
    world.run()
    world.advance(1_500)
    row = rows.of_session(peer.session)
    assert (row["state"], row["blocked_ms_total"], row["last_blocked_by"]) == ("blocked", 1_500, "resource")
    assert (row["user"], row["vhost"], row["channels"], row["conn_id"]) == ("guest", "/", 1, peer.session.pid)
    block = rows.of_block(peer.session, "memory", 5, None)
    assert (block["action"], block["began_ms"], block["duration_ms"]) == ("begin", 5, None)
    assert rows.of_block(peer.session, "memory", 5, 7)["action"] == "end"


def test_the_node_has_its_limits(world):
    row = rows.of_node(world.broker, 12)
    assert (row["watermark"], row["disk_limit"], row["loop_lag_ms"], row["queues"]) == (0.4, 50_000_000, 12, 0)
    assert row["fds"] > 0


@pytest.mark.parametrize(("resource", "limit"), [("memory", "mem_limit"), ("disk", "disk_limit")])
def test_an_alarm_has_the_figures_of_its_resource(world, resource, limit):
    world.broker.alarms.set(resource, "why so")
    (alarm,) = world.broker.alarms
    row = rows.of_alarm(world.broker, alarm, "set")
    assert (row["resource"], row["action"], row["why"]) == (resource, "set", "why so")
    assert row["limit"] == rows.of_node(world.broker, 0)[limit]


def test_a_loss_names_where_it_happened(world):
    found = world.broker.losses = DropCounts()
    peer = world.connect()
    peer.declare("q", {"x-message-ttl": 0})
    peer.publish("amq.direct", "nowhere", b"", mandatory=True)
    peer.publish("", "q", b"abc")
    told = [rows.of_loss(*each) for each in found.pop()]
    keys = ("kind", "reason", "vhost", "exchange", "routing_key", "queue", "returned", "has_ae", "count")
    assert [tuple(row[key] for key in keys) for row in told] == [
        ("unroutable", "NO_ROUTE", "/", "amq.direct", "nowhere", "", True, False, 1),
        ("expired", "expired", "/", "", "q", "q", False, False, 1),
    ]


def test_a_node_without_a_descriptor_left_is_told_of_all_the_same(world, monkeypatch):
    def refuse(_process):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(psutil.Process, "num_fds", refuse)
    row = rows.of_node(world.broker, 7)
    assert (row["fds"], row["loop_lag_ms"]) == (None, 7)


def test_in_a_stream_waits_what_its_slowest_consumer_has_not_received(world):
    peer = world.connect()
    peer.declare("s", {"x-queue-type": "stream", "x-max-length-bytes": 1_000_000}, durable=True)
    stream = world.vhost.queues["s"]
    for _ in range(4):
        peer.publish("", "s", b"12345")
    before = rows.queue_activity(stream)
    row = rows.of_queue(stream)
    assert (row["ready"], row["ready_bytes"], row["unacked"], row["octets_max"]) == (0, 0, 0, None)
    assert (row["publish_total"], row["bytes"]) == (4, stream.octets)
    peer.call(Basic.Qos(prefetch_count=1))
    peer.consume("s", arguments={"x-stream-offset": "first"})
    row = rows.of_queue(stream)
    assert (row["ready"], row["ready_bytes"], row["unacked"]) == (3, stream.octets * 3 // 4, 1)
    assert before != rows.queue_activity(stream)
