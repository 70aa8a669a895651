"""New limits count at once for what waits, a share of it in each turn where it is very much."""

import pytest
from readers import Bench

from pybroker.core.limits import REJECT_PUBLISH
from pybroker.core.queue import overflow
from pybroker.core.queue.overflow import DROP_COST, ENTRY_COST
from pybroker.run import Traits


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
    bench.publish(b"b", traits=Traits(ttl_ms=500))
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
    while bench.broker.reviews or bench.broker.policies.left("/"):
        before = len(looked)
        bench.broker.pump()
        assert len(looked) - before < 600
    assert {1} == {each.queue.messages_ready for each in benches}


def test_a_deleted_queue_is_not_looked_at(bench):
    scatter(bench, 3 * DROP_COST // (ENTRY_COST + 1))
    put(bench, {"max-length": 2})
    bench.vhost.delete_queue(bench.queue)
    bench.turn()
    assert 0 == len(bench.broker.reviews)
