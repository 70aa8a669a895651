"""Scrapes, as Prometheus' own parser reads them."""

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from pybroker.core.events.cause import BROKER
from pybroker.http.metrics import collect
from pybroker.wire.stream import commands
from tests.stream_peer import StreamPeer

# The series that Grafana's dashboard 10991 asks for, without those of Erlang's memory.
# fmt: off
DASHBOARD = {
    "build_info", "identity_info", "erlang_uptime_seconds", "resident_memory_limit_bytes",
    "process_resident_memory_bytes", "disk_space_available_bytes", "disk_space_available_limit_bytes",
    "process_max_fds", "process_open_fds", "queues", "queue_messages_ready", "queue_messages_unacked", "connections",
    "channels", "connections_opened_total", "connections_closed_total", "channels_opened_total",
    "channels_closed_total", "queues_declared_total", "queues_created_total", "queues_deleted_total",
    "message_size_bytes_bucket", "message_size_bytes_sum", "message_size_bytes_count", "global_publishers",
    "global_consumers", "global_messages_received_total", "global_messages_received_confirm_total",
    "global_messages_routed_total", "global_messages_confirmed_total", "global_messages_unroutable_dropped_total",
    "global_messages_unroutable_returned_total", "global_messages_delivered_total",
    "global_messages_delivered_consume_auto_ack_total", "global_messages_delivered_consume_manual_ack_total",
    "global_messages_delivered_get_auto_ack_total", "global_messages_delivered_get_manual_ack_total",
    "global_messages_get_empty_total", "global_messages_redelivered_total", "global_messages_acknowledged_total",
}
# fmt: on
HOSTILE = "a/b, c#+"


def samples(parts):
    """Return each sample as (name, labels) and its value; a name and labels occur once."""
    found = {}
    for family in parse("".join(parts)):
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def by_name(found, name):
    return {labels: value for (other, labels), value in found.items() if other == name}


@pytest.fixture
def busy(world, peer):
    """Have five messages in two queues, one of them with a hostile name, and a third in another virtual host."""
    for name in ("a", HOSTILE):
        peer.declare(name)
    for body in (b"1", b"22", b"333"):
        peer.publish("", "a", body)
    for body in (b"1", b"2"):
        peer.publish("", HOSTILE, body)
    world.run()
    return world


def test_all_is_summed_up(node, busy):
    found = samples(collect.aggregated(node))
    assert by_name(found, "rabbitmq_queue_messages_ready") == {(): 5}
    assert by_name(found, "rabbitmq_queue_messages_ready_bytes") == {(): 8}
    assert by_name(found, "rabbitmq_connections") == {(): 1}
    assert by_name(found, "rabbitmq_queues") == {(): 2}
    assert by_name(found, "rabbitmq_alarms_memory_used_watermark") == {(): 0}
    assert by_name(found, "rabbitmq_message_size_bytes_count") == {(("protocol", "amqp091"),): 5}
    assert by_name(found, "rabbitmq_message_size_bytes_sum") == {(("protocol", "amqp091"),): 8}
    assert len(found) < 250


def test_the_dashboard_finds_all_that_it_asks_for(node, busy):
    busy.broker.settings.watermarks.measured.disk_free = 1 << 30
    names = {name.removeprefix("rabbitmq_") for name, _ in samples(collect.aggregated(node))}
    assert names >= DASHBOARD


def test_ages_rates_and_times_are_not_summed_up(node, busy):
    words = {word for name, _ in samples(collect.aggregated(node)) for word in name.split("_")}
    assert not words & {"age", "rate", "time"}


def test_each_scrape_identifies_the_node(node):
    for parts, endpoint in (
        (collect.aggregated(node), "aggregated"),
        (collect.per_object(node, 1_000), "per-object"),
        (collect.detailed(node, [], collect.Filter(), 1_000), "detailed"),
        (collect.memory_breakdown(node), "memory-breakdown"),
    ):
        ((labels, value),) = by_name(samples(parts), "rabbitmq_identity_info").items()
        told = dict(labels)
        assert (told["rabbitmq_node"], told["rabbitmq_endpoint"], value) == ("pybroker@vm", endpoint, 1)


@pytest.mark.parametrize("resource", collect.ALARMS)
def test_an_alarm_is_told(node, world, resource):
    world.broker.alarms.set(resource, "by a test")
    told = samples(collect.aggregated(node))
    found = {name: by_name(told, f"rabbitmq_alarms_{name}")[()] for name in collect.ALARMS.values()}
    assert found == {name: name == collect.ALARMS[resource] for name in collect.ALARMS.values()}


def test_each_object_has_its_own_samples(node, busy):
    found = samples(collect.per_object(node, 1_000))
    ready = {dict(labels)["queue"]: value for labels, value in by_name(found, "rabbitmq_queue_messages_ready").items()}
    assert ready == {"a": 3, HOSTILE: 2}
    ages = by_name(found, "pybroker_queue_head_age_seconds")
    assert set(ages.values()) == {0}
    types = [dict(labels)["queue_type"] for labels in by_name(found, "rabbitmq_queue_info")]
    assert types == ["rabbit_classic_queue"] * 2
    assert len(by_name(found, "rabbitmq_connection_incoming_bytes_total")) == 1


def test_more_series_than_allowed_are_refused(node, busy):
    with pytest.raises(collect.TooMany, match="more than 20 series; ask /metrics/detailed"):
        list(collect.per_object(node, 20))


def test_what_has_no_value_is_no_series(node, busy, peer):
    for number in range(100):
        peer.declare(f"empty-{number}")
    text = "".join(collect.per_object(node, 1 << 30))
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert len([line for line in lines if line.startswith("pybroker_queue_head_age_seconds")]) == 2
    assert "".join(collect.per_object(node, len(lines)))
    with pytest.raises(collect.TooMany):
        list(collect.per_object(node, len(lines) - 200))


def test_details_are_those_asked_for(node, busy):
    busy.broker.add_vhost("other", BROKER)
    families = ["queue_coarse_metrics", "node_metrics", "vhost_status", "exchange_names", "nonsense"]
    found = samples(collect.detailed(node, families, collect.Filter(), 1_000))
    assert {name for name, _ in found if "queue" in name} == {
        "rabbitmq_detailed_queue_messages_ready",
        "rabbitmq_detailed_queue_messages_unacked",
        "rabbitmq_detailed_queue_messages",
        "rabbitmq_detailed_queue_info",
    }
    assert (("vhost", "other"),) in by_name(found, "rabbitmq_cluster_vhost_status")
    exchange = (("exchange", "amq.topic"), ("type", "topic"), ("vhost", "/"))
    assert by_name(found, "rabbitmq_cluster_exchange_name")[exchange] == 1
    assert "rabbitmq_detailed_process_max_fds" in {name for name, _ in found}


def test_details_are_of_chosen_queues(node, busy):
    chosen = [
        (collect.Filter(queues="^a$"), 1),
        (collect.Filter(vhosts=("/",)), 2),
        (collect.Filter(vhosts=("other",)), 0),
    ]
    for filter_, count in chosen:
        found = samples(collect.detailed(node, ["queue_consumer_count"], filter_, 1_000))
        assert len(by_name(found, "rabbitmq_detailed_queue_consumers")) == count
        assert len(by_name(found, "rabbitmq_detailed_queue_info")) == count
    with pytest.raises(collect.BadPattern, match="invalid"):
        list(collect.detailed(node, ["queue_consumer_count"], collect.Filter(queues="("), 1_000))


def test_categories_of_memory_add_up(node):
    found = samples(collect.memory_breakdown(node))
    octets = [value for (name, _), value in found.items() if name.startswith("rabbitmq_memory_")]
    assert sum(octets) == node.operator.daemon.memory[0]


@pytest.fixture
def streaming(world):
    """Have a stream with three messages, which one client has read and another one has not, and one without clients."""
    client = StreamPeer(world)
    for name in ("s", "idle"):
        client.create(name)
    client.declare()
    client.publish(b"a", b"b", b"c")
    client.subscribe()
    client.subscribe(subscription_id=2, credit=0)
    return world


@pytest.mark.usefixtures("streaming")
def test_the_protocols_are_counted_apart(node):
    found = samples(collect.aggregated(node))
    for name, count in (("messages_received_total", 3), ("messages_delivered_total", 3), ("consumers", 2)):
        by_protocol = {(("protocol", "amqp091"),): 0, (("protocol", "stream"),): count}
        assert by_name(found, f"rabbitmq_global_{name}") == by_protocol
    assert list(by_name(found, "rabbitmq_global_messages_get_empty_total")) == [(("protocol", "amqp091"),)]


def test_stored_offsets_lag_whether_anybody_is_connected_or_not(node, streaming):
    reader = StreamPeer(streaming)
    reader.send(commands.StoreOffset("spark", "s", 0), commands.StoreOffset("other", "s", 2))
    reader.disconnect()
    name, family = "pybroker_stream_offset_lag", "pybroker_stream_offset_metrics"
    found = by_name(samples(collect.detailed(node, [family], collect.Filter(), 1_000)), name)
    assert found == {
        (("queue", "s"), ("reference", reference), ("vhost", "/")): lag
        for reference, lag in (("spark", 2), ("other", 0))
    }
    assert not by_name(samples(collect.detailed(node, [family], collect.Filter(queues="^i"), 1_000)), name)
    assert not by_name(samples(collect.aggregated(node)), name)
    assert not by_name(samples(collect.per_object(node, 1_000)), name)


@pytest.mark.usefixtures("streaming")
def test_consumers_of_streams_lag(node):
    name = "stream_consumer_max_offset_lag"
    labels = (("queue", "s"), ("vhost", "/"))
    assert by_name(samples(collect.aggregated(node)), f"rabbitmq_{name}") == {(): 3}
    assert by_name(samples(collect.per_object(node, 1_000)), f"rabbitmq_{name}") == {labels: 3}
    for chosen, count in ((collect.Filter(), 1), (collect.Filter(("other",)), 0), (collect.Filter(queues="^i"), 0)):
        found = samples(collect.detailed(node, ["stream_consumer_metrics"], chosen, 1_000))
        assert len(by_name(found, f"rabbitmq_detailed_{name}")) == count
