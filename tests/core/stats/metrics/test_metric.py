"""The table of metrics: every figure can be read, counters only grow, and all say what they are."""

import pytest

from pybroker.core.stats import metrics
from pybroker.core.stream.tracking import StoredOffset
from tests.fakes import Basic, Confirm, World

TABLES = {
    "queue": metrics.QUEUE,
    "exchange": metrics.EXCHANGE,
    "channel": metrics.CHANNEL,
    "connection": metrics.CONNECTION,
    "consumer": metrics.CONSUMER,
    "vhost": metrics.VHOST,
    "node": metrics.NODE,
    "global": metrics.GLOBAL,
    "global stream": metrics.GLOBAL_STREAM,
    "stream": metrics.STREAM,
    "stream offset": metrics.STREAM_OFFSET,
    "dead letters": metrics.DEAD_LETTER,
}


@pytest.fixture
def nouns():
    world = World()
    peer = world.connect()
    peer.declare("q")
    peer.declare("r")
    peer.call(Basic.Consume(queue="r", consumer_tag="c"))
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    return {
        "queue": world.vhost.queues["q"],
        "exchange": world.vhost.exchanges[""],
        "channel": peer.session.channels[1],
        "connection": peer.session,
        "consumer": peer.session.channels[1].consumers["c"],
        "vhost": world.vhost,
        "node": world.broker,
        "global": world.broker,
        "global stream": world.broker,
        "stream": world.vhost.queues["s"],
        "stream offset": StoredOffset(world.vhost.queues["s"], "c", 0),
        "dead letters": world.broker.totals.deaths["disabled"],
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


@pytest.mark.parametrize("name", ["queue", "exchange", "channel", "connection", "vhost", "node", "global"])
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
