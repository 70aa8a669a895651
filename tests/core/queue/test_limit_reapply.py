"""New limits count at once for what waits, a share of it in each turn where it is very much."""

import pytest

from pybroker.core.policy.limits import REJECT_PUBLISH
from pybroker.core.queue import overflow, queue
from pybroker.core.queue.overflow import DROP_COST, ENTRY_COST
from pybroker.core.queue.paging import eviction, segments
from pybroker.run import RunAttributes
from tests.core.disk_log import DiskBench
from tests.readers import Bench


def put(bench, definition, component="policy"):
    value = {"pattern": "^q$", "definition": definition, "priority": 0}
    bench.broker.parameters.set("/", component, "p", value)


def clear(bench):
    bench.broker.parameters.clear("/", "policy", "p")


@pytest.fixture
def bench():
    return Bench()


def scatter(bench, count):
    """Publish messages that each are a run of their own."""
    for _ in range(count):
        bench.publish(b"x")


def test_what_is_too_much_is_dropped_from_the_head(bench):
    bench.publish(b"a", b"b", b"c", b"d")
    put(bench, {"max-length": 2})
    assert ([b"c", b"d"], 2) == (bench.bodies(), bench.queue.dropped)
    bench.publish(b"e")
    assert [b"d", b"e"] == bench.bodies()


def test_so_are_octets_too_many(bench):
    bench.publish(b"aa", b"b", b"cc")
    put(bench, {"max-length-bytes": 3})
    assert [b"b", b"cc"] == bench.bodies()


def test_a_queue_that_refuses_drops_nothing(bench):
    bench.publish(b"a", b"b", b"c")
    put(bench, {"max-length": 2, "overflow": "reject-publish"})
    assert ([b"a", b"b", b"c"], REJECT_PUBLISH) == (bench.bodies(), bench.queue.limits.overflow)
    put(bench, {"max-length": 2})
    assert [b"b", b"c"] == bench.bodies()


def test_what_is_dropped_goes_to_the_dead_letter_exchange_of_the_same_policy(bench):
    dead = Bench(bench.vhost, "dead")
    bench.publish(b"a", b"b", b"c")
    put(bench, {"max-length": 1, "dead-letter-exchange": "", "dead-letter-routing-key": "dead"})
    bench.turn()
    assert ([b"c"], [b"a", b"b"]) == (bench.bodies(), dead.bodies())


def test_what_waits_is_as_old_as_it_is(bench):
    bench.publish(b"old")
    bench.advance(100)
    bench.publish(b"young")
    put(bench, {"message-ttl": 100})
    bench.turn()
    assert [b"young"] == bench.bodies()
    bench.advance(99)
    assert [b"young"] == bench.bodies()
    bench.advance(1)
    assert [] == bench.bodies()


def test_without_a_ttl_nothing_expires_but_what_has_one_of_its_own(bench):
    put(bench, {"message-ttl": 100})
    bench.publish(b"a")
    bench.publish(b"b", attributes=RunAttributes(ttl_ms=500))
    clear(bench)
    bench.advance(100)
    assert [b"a", b"b"] == bench.bodies()
    bench.queue.purge()
    put(bench, {"max-length": 5})
    clear(bench)
    assert not bench.queue.timed  # nothing is left that could expire: deliveries are as fast as before


def test_expires_counts_from_the_change_and_no_longer_when_it_is_cleared(bench):
    bench.advance(1_000)
    put(bench, {"expires": 100})
    bench.advance(99)
    assert not bench.queue.deleted
    clear(bench)
    bench.advance(1_000)
    assert not bench.queue.deleted
    put(bench, {"expires": 100})
    put(bench, {"expires": 50})
    bench.advance(50)
    assert bench.queue.deleted


def test_expires_spares_a_queue_that_is_used(bench):
    bench.reader()
    put(bench, {"expires": 100})
    bench.advance(1_000)
    assert not bench.queue.deleted


def test_consumers_get_what_is_left(bench):
    bench.publish(b"a", b"b", b"c")
    put(bench, {"max-length": 1})
    reader = bench.reader()
    bench.turn()
    assert 1 == len(reader.seqs)


def test_a_delivery_limit_counts_for_what_is_out(bench):
    reader = bench.reader()
    bench.publish(b"a")
    bench.turn()
    assert 1 == len(reader.seqs)
    put(bench, {"delivery-limit": 0})
    assert 0 == bench.queue.limits.delivery_limit


def test_very_many_are_dropped_a_share_a_turn(bench):
    count = 3 * DROP_COST // (ENTRY_COST + 1)
    scatter(bench, count)
    put(bench, {"max-length": 10})
    most = DROP_COST // (ENTRY_COST + 1) + 1
    left = bench.queue.messages_ready
    assert 0 < count - left <= most
    turns = 0
    while bench.queue.messages_ready > 10:
        bench.broker.pump()
        assert left - bench.queue.messages_ready <= most
        left = bench.queue.messages_ready
        turns += 1
    assert (True, 10, count - 10) == (turns > 1, left, bench.queue.dropped)
    bench.turn()


def test_who_publishes_meanwhile_drops_a_share_too_and_keeps_the_order(bench):
    scatter(bench, 3 * DROP_COST // (ENTRY_COST + 1))
    put(bench, {"max-length": 2})
    bench.publish(b"last but one")
    bench.publish(b"last")
    bench.turn()
    assert [b"last but one", b"last"] == bench.bodies()


def test_very_many_queues_are_looked_at_in_shares(bench, monkeypatch):
    benches = [Bench(bench.vhost, f"q{number}") for number in range(600)]
    for each in benches:
        each.publish(b"a", b"b")
    looked = []
    real = overflow.drop_heads
    monkeypatch.setattr(overflow, "drop_heads", lambda queue: (looked.append(queue), real(queue)))
    bench.broker.parameters.set("/", "policy", "p", {"pattern": "", "definition": {"max-length": 1}, "priority": 0})
    assert 0 < len(looked) < 600
    while bench.broker.limit_reapply or bench.broker.policies.left("/"):
        before = len(looked)
        bench.broker.pump()
        assert len(looked) - before < 600
    assert {1} == {each.queue.messages_ready for each in benches}


def test_a_deleted_queue_is_not_looked_at(bench):
    scatter(bench, 3 * DROP_COST // (ENTRY_COST + 1))
    put(bench, {"max-length": 2})
    bench.vhost.delete_queue(bench.queue)
    bench.turn()
    assert 0 == len(bench.broker.limit_reapply)


@pytest.fixture
def handy(monkeypatch):
    """Make windows and shares what they are to one another, but small."""
    monkeypatch.setattr(segments, "WINDOW_MESSAGES", 64)
    monkeypatch.setattr(eviction, "RESIDENT_MESSAGES", 320)
    monkeypatch.setattr(eviction, "FETCH_MESSAGES", 128)
    monkeypatch.setattr(eviction, "PACK_BEHIND_MESSAGES", 128)
    monkeypatch.setattr(queue, "PACK_BEHIND_MESSAGES", 128)
    monkeypatch.setattr(overflow, "DROP_COST", 100 * ENTRY_COST)


def backlog(count):
    """Return a queue with so many messages, most of them away."""
    disk = DiskBench()
    for _ in range(count // 100):
        disk.fill(100)
    assert disk.queue.backlog.messages_evicted > count // 3
    return disk


def live(disk):
    return sorted(disk.log.live[disk.queue.id])


@pytest.mark.usefixtures("handy")
class TestEvictedBacklogs:
    """Messages on disk alone are dropped unread; they are loaded to become dead letters, or if they may be too old."""

    def test_too_much_of_it_is_dropped_unseen_a_share_a_turn(self):
        disk = backlog(2_000)
        put(disk, {"max-length": 10})
        left = disk.queue.messages_ready
        turns = 0
        while disk.queue.messages_ready > 10:
            disk.broker.pump()
            assert left - disk.queue.messages_ready <= 101
            left = disk.queue.messages_ready
            turns += 1
        disk.settle_down()
        assert (True, 0, list(range(1_991, 2_001))) == (turns > 10, disk.log.asked, live(disk))

    def test_dead_letters_of_it_keep_their_order(self):
        disk = backlog(500)
        dead = Bench(disk.vhost, "dead")
        put(disk, {"max-length": 10, "dead-letter-exchange": "", "dead-letter-routing-key": "dead"})
        for _ in range(500):
            disk.settle_down()
        assert (10, 490) == (disk.queue.messages_ready, dead.queue.messages_ready)
        assert dead.ready() == sorted(dead.ready())
        assert list(range(491, 501)) == live(disk)[:10]

    def test_it_expires_when_a_policy_says_so(self):
        disk = backlog(500)
        disk.broker.clock.advance(100)
        put(disk, {"message-ttl": 100})
        for _ in range(100):
            disk.settle_down()
        assert ([], 0, 500) == (live(disk), disk.queue.messages_ready, disk.queue.expired)

    def test_what_is_published_meanwhile_counts(self):
        disk = backlog(1_000)
        put(disk, {"max-length": 5})
        disk.fill(3)
        disk.settle_down()
        assert [999, 1_000, 1_001, 1_002, 1_003] == live(disk)

    def test_who_consumes_meanwhile_gets_what_is_still_there_in_order(self):
        disk = backlog(1_000)
        put(disk, {"max-length": 5})
        reader = disk.reader(no_ack=True)
        for _ in range(100):
            disk.settle_down()
        assert (sorted(set(reader.seqs)), 1_000) == (reader.seqs, reader.seqs[-1])
        assert [] == live(disk)
