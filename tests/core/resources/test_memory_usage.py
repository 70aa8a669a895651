"""Memory that messages take: contents once, however many queues have them."""

import pytest

from pybroker.core.resources.memory_usage import ENTRIES_PER_SLICE, ENTRY_OCTETS, QUEUE_OCTETS, RUN_OCTETS, measure
from tests.core.disk_log import DiskBench, shrink
from tests.fakes import World


@pytest.fixture
def world():
    return World()


@pytest.fixture
def peer(world):
    peer = world.connect()
    peer.declare("q")
    return peer


def memory_usage(world, pauses=None):
    return measure(world.broker, (pauses if pauses is not None else []).append)


def test_an_empty_broker_has_none(world, peer):
    assert memory_usage(world) == (0, 0, 0)


def test_contents_are_counted_with_their_frames_and_pythons_overhead(world, peer):
    peer.publish("", "q", b"x" * 1_000)
    contents, entries, buffers = memory_usage(world)
    run = world.vhost.queues["q"].backlog.head().run
    # Header frame and body frame, and what a bytes object and its place in a list take.
    assert len(run.content(0)) + 41 <= contents <= len(run.content(0)) + 60
    assert entries == ENTRY_OCTETS + RUN_OCTETS
    assert buffers == 0


def test_what_several_queues_share_is_counted_once(world, peer):
    peer.publish("", "q", b"x" * 1_000)
    alone = memory_usage(world)
    peer.declare("r")
    peer.publish("", "q", b"x" * 1_000, headers={"CC": ["r"]})
    both = memory_usage(world)
    assert both.contents < 2 * alone.contents + 100
    assert both.entries == 3 * ENTRY_OCTETS + 2 * RUN_OCTETS


def test_what_is_delivered_and_not_acknowledged_is_still_there(world, peer):
    peer.publish("", "q", b"x" * 1_000)
    before = memory_usage(world)
    peer.get("q", no_ack=False)
    assert memory_usage(world) == before


def test_a_packed_run_is_one_block(world, peer):
    peer.send(*[f for i in range(10) for f in peer.publish_frames("", "q", b"%010d" % i)])
    run = world.vhost.queues["q"].backlog.head().run
    loose = run.held_octets
    run.pack()
    assert run.contents is None
    assert run.held_octets < loose
    assert run.held_octets >= run.octets


def test_a_flood_of_equal_messages_is_one_object(world, peer):
    peer.send(*[f for _ in range(10) for f in peer.publish_frames("", "q", b"x" * 1_000)])
    run = world.vhost.queues["q"].backlog.head().run
    if run.contents[0] is run.contents[-1]:
        assert run.held_octets < 2_000


def test_buffers_are_what_waits_to_be_read_or_sent(world, peer):
    # The beginning of a frame.
    peer.send_octets(b"\x01\x00\x01")
    peer.session.send(b"y" * 500)
    assert memory_usage(world).buffers == 503


def test_others_go_on_meanwhile(world, peer, monkeypatch):
    monkeypatch.setattr("pybroker.core.resources.memory_usage.ENTRIES_PER_SLICE", 2)
    for i in range(5):
        peer.publish("", "q", b"", message_id=str(i), priority=i)
    pauses = []
    memory_usage(world, pauses)
    assert len(pauses) == (1 + 5) // 2  # a queue counts, also an empty one
    assert ENTRIES_PER_SLICE > 1_000


def test_a_queues_own_figure_comes_near_what_is_counted(world, peer):
    for i in range(20):
        peer.publish("", "q", b"x" * 300, message_id=str(i))
    peer.get("q", no_ack=False)
    queue = world.vhost.queues["q"]
    counted = memory_usage(world)
    assert abs(queue.memory_octets - QUEUE_OCTETS - counted.contents - counted.entries) < 0.1 * counted.contents


def test_an_empty_queue_takes_a_little(world, peer):
    assert world.vhost.queues["q"].memory_octets == QUEUE_OCTETS


def test_what_is_evicted_takes_next_to_nothing(monkeypatch):
    shrink(monkeypatch)
    resident, bench = DiskBench(), DiskBench()
    resident.queue.durable = False
    for one in (resident, bench):
        one.fill(100, size=1_000)
    assert 99 == bench.queue.backlog.messages_evicted
    before, found = measure(resident.broker, print), measure(bench.broker, print)
    assert before.contents > 100_000
    assert found.contents < 10_000
    assert before.entries > 5 * found.entries > 0
    assert resident.queue.memory_octets > 10 * bench.queue.memory_octets > QUEUE_OCTETS


def test_a_stream_holds_what_has_not_moved(world, peer):
    peer.declare("s", durable=True, arguments={"x-queue-type": "stream"})
    peer.publish("", "s", b"x" * 10_000)
    assert measure(world.broker, lambda _: None).contents > 10_000
