"""The table of metrics: every figure can be read, counters only grow, and all say what they are."""

import pytest

from pybroker.core.stats import metrics
from tests.fakes import Basic, Confirm, World

TABLES = {
    "queue": metrics.QUEUE,
    "exchange": metrics.EXCHANGE,
    "channel": metrics.CHANNEL,
    "connection": metrics.CONNECTION,
    "node": metrics.NODE,
}


@pytest.fixture
def nouns():
    world = World()
    peer = world.connect()
    peer.declare("q")
    return {
        "queue": world.vhost.queues["q"],
        "exchange": world.vhost.exchanges[""],
        "channel": peer.session.channels[1],
        "connection": peer.session,
        "node": world.broker,
        "peer": peer,
    }


def read(nouns, name, type_):
    return {metric.name: metric.read(nouns[name]) for metric in TABLES[name].values() if metric.type == type_}


@pytest.mark.parametrize("name", TABLES)
def test_each_can_be_read_and_is_explained(nouns, name):
    for key, metric in TABLES[name].items():
        assert key == metric.name
        assert metric.help
        assert metric.unit == metric.unit.lower().strip() != ""
        assert isinstance(metric.read(nouns[name]), int | float | None)


@pytest.mark.parametrize("name", TABLES)
def test_samples_have_a_name_each(name):
    named = [metric for metric in TABLES[name].values() if metric.sample]
    assert list(metrics.sampled(TABLES[name]).values()) == named


@pytest.mark.parametrize("name", ["queue", "exchange", "connection", "node"])
def test_counters_never_fall(nouns, name):
    peer, before = nouns["peer"], read(nouns, name, "counter")
    peer.call(Confirm.Select())
    for _ in range(3):
        peer.publish("", "q", b"x")
    peer.publish("", "nowhere", mandatory=True)
    peer.take()
    peer.get("q", no_ack=True)
    got = peer.get("q", no_ack=False)
    peer.send(Basic.Ack(delivery_tag=got.method.delivery_tag))
    after = read(nouns, name, "counter")
    assert all(after[key] >= before[key] for key in before)
    assert after != before


def test_what_happened_to_a_queue_can_be_read_off_it(nouns):
    peer = nouns["peer"]
    for _ in range(3):
        peer.publish("", "q", b"12345")
    peer.get("q", no_ack=True)
    got = peer.get("q", no_ack=False)
    figures = {name: metric.read(nouns["queue"]) for name, metric in metrics.QUEUE.items()}
    assert (1, 1, 2, 10) == tuple(
        figures[name] for name in ("messages_ready", "messages_unacknowledged", "messages", "message_bytes")
    )
    assert (3, 2, 1, 0) == tuple(figures[name] for name in ("publish", "deliver", "settled", "ack"))
    peer.send(Basic.Ack(delivery_tag=got.method.delivery_tag))
    assert 1 == metrics.QUEUE["ack"].read(nouns["queue"])
