"""How many messages a change of policies would drop is known before, and it is what it drops."""

import pytest
from hypothesis import given, strategies as st

from pybroker.core.policy.policy import UNRULED
from pybroker.core.topology import policy_drops
from pybroker.core.topology.policy_drops import NAMES_MAX, Tally, surplus
from pybroker.run import RunAttributes
from tests.control.made_stream import make_stream
from tests.core.disk_log import DiskBench, shrink
from tests.fakes import World
from tests.readers import Bench
from tests.strategies import few


def value(definition, **more):
    return {"pattern": "^q$", "definition": definition, "priority": 0, **more}


def planned(bench, definition, component="policy"):
    changes = [(component, "p", None if definition is None else value(definition))]
    return [drop.messages for drop in bench.broker.policies.planned("/", changes) if drop is not None]


def put(bench, definition):
    bench.broker.parameters.set("/", "policy", "p", value(definition))


@pytest.mark.parametrize(
    ("definition", "drops"),
    [
        ({"max-length": 2}, 3),
        ({"max-length": 9}, 0),
        ({"max-length-bytes": 5}, 2),
        ({"max-length": 4, "max-length-bytes": 5}, 2),
        ({"max-length": 2, "overflow": "reject-publish"}, 0),
        ({"message-ttl": 0}, 5),
        ({"message-ttl": 0, "max-length": 2}, 5),
        ({"message-ttl": 1}, 0),
    ],
)
def test_it_is_known_before(definition, drops):
    bench = Bench()
    bench.publish(b"aaaa", b"b", b"c", b"dd")
    bench.publish(b"ee")
    assert planned(bench, definition) == [drops]
    assert bench.queue.messages_ready == 5
    put(bench, definition)
    assert bench.queue.dropped + bench.queue.expired == drops
    assert planned(bench, definition) == [0]


def test_a_ttl_drops_heads_that_are_old():
    bench = Bench()
    bench.publish(b"a", b"b")
    bench.publish(b"c", attributes=RunAttributes(ttl_ms=5_000))
    bench.broker.clock.now_ms += 1_000
    bench.publish(b"d")
    assert planned(bench, {"message-ttl": 1_001}) == [0]
    assert planned(bench, {"message-ttl": 1_000}) == [3]
    put(bench, {"message-ttl": 1_000})
    assert (bench.queue.expired, bench.queue.messages_ready) == (3, 1)


def test_so_many_are_looked_at_for_their_age(monkeypatch):
    monkeypatch.setattr(policy_drops, "OLD_ENTRIES_MAX", 2)
    bench = Bench()
    for body in (b"a", b"b", b"c"):
        bench.publish(body)
    (drop,) = [
        each for each in bench.broker.policies.planned("/", [("policy", "p", value({"message-ttl": 0}))]) if each
    ]
    assert (drop.messages, drop.others) == (2, 1)


def test_how_old_messages_on_disk_alone_are_is_not_known(monkeypatch):
    shrink(monkeypatch)
    disk = DiskBench()
    disk.fill(50, 3)
    evicted = disk.queue.backlog.messages_evicted
    assert 0 < evicted < 50
    (drop,) = [each for each in disk.broker.policies.planned("/", [("policy", "p", value({"message-ttl": 0}))]) if each]
    assert (drop.messages, drop.others) == (50 - evicted, evicted)
    tally = Tally()
    tally.add("q", drop.messages, drop.others)
    assert str(tally) == f"at least {50 - evicted} messages of 1 queue: 'q' {50 - evicted}"
    (drop,) = [each for each in disk.broker.policies.planned("/", [("policy", "p", value({"message-ttl": 9}))]) if each]
    assert (drop.messages, drop.others) == (0, 0)


@pytest.mark.parametrize(
    ("definition", "drops"), [({"max-length": 4}, 1), ({"max-length": 1}, 3), ({"max-length-bytes": 5}, 3), ({}, 0)]
)
def test_those_that_wait_for_their_retry_count_and_stay(definition, drops):
    bench = DiskBench(x_retry_delays="1h")
    bench.fill(5, size=2)
    reader = bench.reader(prefetch=2)
    bench.settle_down()
    batches = reader.channel.unacked.pop_up_to(0)
    reader.channel.consumers.clear()
    bench.queue.consumers.remove(reader)
    reader.channel.give_back(batches, requeue=True, failed=False)
    bench.settle_down()
    assert (bench.queue.messages_ready, bench.queue.messages_delayed) == (3, 2)
    definition = {"expires": 60_000, **definition}
    assert planned(bench, definition) == [drops]
    put(bench, definition)
    bench.settle_down()
    assert (bench.queue.dropped, bench.queue.messages_delayed) == (drops, 2)


def test_a_policy_that_is_cleared_may_leave_another_in_force():
    bench = Bench()
    bench.broker.parameters.set("/", "policy", "low", value({"max-length": 1}, priority=-1))
    bench.broker.parameters.set("/", "policy", "p", value({"max-length": 9}))
    bench.publish(b"a", b"b", b"c")
    assert planned(bench, None) == [2]
    assert list(bench.broker.policies.planned("/", [("policy", "other", None)])) == [None]


@few
@given(st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=5), max_size=12), st.integers(0, 120))
def test_octets_are_counted_to_the_message(runs, most):
    bench = Bench()
    for sizes in runs:
        bench.publish(*[b"x" * size for size in sizes])
    (drops,) = planned(bench, {"max-length-bytes": most})
    put(bench, {"max-length-bytes": most})
    assert bench.queue.dropped == drops


def test_what_is_evicted_counts(monkeypatch):
    shrink(monkeypatch)
    disk = DiskBench()
    disk.fill(50, 3)
    assert disk.queue.backlog.messages_evicted
    assert planned(disk, {"max-length-bytes": 31}) == [40]


def test_the_log_says_what_was_dropped(caplog):
    bench = Bench()
    bench.publish(b"a", b"b", b"c")
    with caplog.at_level("INFO", "pybroker"):
        put(bench, {"max-length": 1})
        put(bench, {"max-length": 2})
    (line,) = [line for line in caplog.messages if "changed" in line]
    expected = (
        "2 messages of 1 queue: 'q' 2 exceed their limits and are dropped, or sent to their dead-letter exchanges"
    )
    assert line == f"policies of vhost '/' changed: {expected}"


def test_few_queues_are_named():
    tally = Tally()
    for number in range(NAMES_MAX + 3):
        tally.add(f"q{number}", 1)
    tally.add("none", 0)
    assert str(tally).startswith("13 messages of 13 queues: 'q0' 1, 'q1' 1")
    assert str(tally).endswith("'q9' 1 and 3 more")


def test_a_stream_drops_nothing_at_once():
    world = World()
    peer = world.connect()
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    peer.publish("", "s", b"x" * 100)
    stream = world.vhost.queues["s"]
    assert surplus(stream, UNRULED.limits({"x-max-length-bytes": 1}, "stream")) == (0, 0)


def test_segments_of_a_stream_are_counted():
    world = World()
    stream, peer = make_stream(world), world.connect()
    for number in range(4):
        peer.publish("", "s", b"%d" % number)
        world.advance(60_000)
    change = [("policy", "p", {"pattern": "^s$", "definition": {"max-age": "2m"}, "priority": 0})]
    (drop,) = world.broker.policies.planned("/", change)
    assert (drop.queue, drop.messages) == (stream, 2)
