"""The node and its virtual hosts over time."""

import gevent
import pytest

from pybroker.http.node import Unavailable
from pybroker.http.samples.history import Window
from pybroker.http.samples.samples import Samples


@pytest.fixture
def now(world):
    return world.broker.clock


@pytest.fixture
def samples(node, now):
    return Samples(node, lambda: now.timestamp_ms)


def looked(samples, world, peer, messages):
    """Look, publish, and look five seconds later."""
    samples.add_sample()
    for _ in range(messages):
        peer.publish("", "q", b"x")
    world.advance(5_000)
    samples.add_sample()


def test_rates_of_the_node_and_a_virtual_host(samples, world, peer):
    peer.declare("q")
    looked(samples, world, peer, 10)
    assert samples.of_node("publish") == samples.of_vhosts(["/"], "publish") == {"rate": 2.0}
    assert samples.of_node("messages_ready") == {"rate": 2.0}
    assert samples.of_vhosts(["/"], "recv_oct")["rate"] > 0
    assert samples.of_vhosts(["/", "/", "none"], "publish") == {"rate": 4.0}
    assert samples.of_vhosts([], "publish") == {"rate": 0.0}
    assert samples.of_node("nothing") == {"rate": 0.0}


def test_samples_of_several_are_summed_up(samples, world, peer):
    peer.declare("q")
    looked(samples, world, peer, 10)
    found = samples.of_vhosts(["/", "/"], "messages", Window(5_000, 5_000))
    assert [each["sample"] for each in found["samples"]] == [20, 0]
    assert found["avg"] == 10.0


def test_a_node_that_was_started_again_counts_from_zero(samples, world, peer):
    peer.declare("q")
    looked(samples, world, peer, 10)
    world.broker.started_ms += 1
    samples.add_sample()
    assert samples.of_node("publish") == {"rate": 0.0}


def test_objects_have_rates_and_alone_samples(samples, world, now):
    names = ("publish",)
    samples.of_object(("queue", "/", "q"), names, (0,), watched=True)
    world.advance(5_000)
    details = samples.of_object(("queue", "/", "q"), names, (10,), watched=True)
    assert details("publish", None) == {"rate": 2.0}
    assert [each["sample"] for each in details("publish", Window(5_000, 5_000))["samples"]] == [10, 0]
    details = samples.of_object(("queue", "/", "q"), names, (10,), watched=False)
    assert "samples" not in details("publish", Window(5_000, 5_000))


def test_it_looks_on_the_grid_and_waits_for_the_node(node, samples):
    asked = []

    def look():
        asked.append(samples.now_ms())
        raise Unavailable("it starts")

    samples.add_sample = look
    samples.now_ms = lambda: 4_999
    life = gevent.spawn(samples.run)
    gevent.sleep(0.05)
    life.kill()
    assert asked
    assert node.asked == []


def test_rates_stand_beside_figures(api, world, peer):
    peer.declare("q")
    api.get("/api/queues/%2F/q")
    looked(api.samples, world, peer, 10)
    queue = api.get("/api/queues/%2F/q?lengths_age=5&lengths_incr=5")
    assert queue["message_stats"]["publish_details"] == {"rate": 2.0}
    assert queue["messages_details"]["rate"] == 2.0
    assert len(queue["messages_details"]["samples"]) == 2
    assert api.get("/api/queues?columns=message_stats.publish_details.rate") == [
        {"message_stats": {"publish_details": {"rate": 2.0}}}
    ]
    overview = api.get("/api/overview?msg_rates_age=5&msg_rates_incr=5")
    assert overview["message_stats"]["publish_details"]["rate"] == 2.0
    assert len(overview["message_stats"]["publish_details"]["samples"]) == 2
    assert overview["queue_totals"]["messages_ready_details"] == {"rate": 2.0}
    assert api.get("/api/vhosts/%2F")["message_stats"]["publish_details"] == {"rate": 2.0}
    node = api.get("/api/nodes/pybroker@vm?node_stats_age=10&node_stats_incr=5")
    assert len(node["fd_used_details"]["samples"]) == 2
