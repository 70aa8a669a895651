"""Messages that an operator gets: what happens to the queue, whoever leaves when."""

import pytest

from pybroker.core.events.cause import BROKER
from pybroker.core.operator import get as module
from pybroker.core.queue.browse import shown
from pybroker.errors import ContentTooLarge, ResourceLocked
from tests.core.disk_log import DiskBench, shrink
from tests.fakes import World
from tests.readers import Bench


def got(bench, **options):
    """Return what is to be had, a list of seqs for each batch."""
    how = {"messages_max": 10, "ack": False, "body_octets_max": 100, "raw": False, **options}
    rest = getattr(bench, "settle_down", bench.turn)
    found = bench.vhost.get_messages(bench.queue, None, cause=BROKER, pause=lambda _: rest(), **how)
    return (None if batch is None else [one["seq"] for one in batch] for batch in found)


def counts(queue):
    return queue.messages_ready, queue.messages_unacknowledged


def test_they_go_back_to_their_places_as_redelivered_ones():
    bench = Bench()
    bench.flood(3)
    assert [[1, 2]] == list(got(bench, messages_max=2))
    assert (3, 0) == counts(bench.queue)
    reader = bench.reader()
    bench.turn()
    assert ([1, 2, 3], [1, 2]) == (reader.seqs, reader.redelivered)


def test_acknowledged_ones_are_gone_when_all_have_been_shown(monkeypatch):
    monkeypatch.setattr(shown, "BATCH_DOCUMENTS", 2)
    bench = Bench()
    bench.flood(5)
    batches = got(bench, ack=True)
    assert [[1, 2], [3, 4], [5], None] == [next(batches) for _ in range(4)]
    assert (0, 5) == counts(bench.queue)
    batches.close()
    assert (5, 0) == counts(bench.queue), "nobody said that they were shown"
    assert [[1, 2], [3, 4], [5], None] == list(got(bench, ack=True))
    assert (0, 0, 5) == (*counts(bench.queue), bench.queue.acked)
    assert [[]] == list(got(bench))


def test_rejected_ones_are_dead_letters():
    bench = Bench()
    bench.flood(3)
    batches = got(bench, messages_max=2, reject=True)
    assert [[1, 2], None] == [next(batches), next(batches)]
    batches.close()
    assert (3, 0) == counts(bench.queue), "nobody said that they were shown"
    assert [[1, 2], None] == list(got(bench, messages_max=2, reject=True))
    assert (1, 0, 0) == (*counts(bench.queue), bench.queue.acked)


def test_a_body_that_cannot_be_shown_whole_is_not_acknowledged():
    bench = Bench()
    bench.flood(2)
    bench.publish(b"x" * 101)
    bench.flood(1)
    assert [[1, 2], None] == list(got(bench, ack=True, whole=True)), "what comes before it is shown without a refusal"
    assert (2, 0, 2) == (*counts(bench.queue), bench.queue.acked)
    with pytest.raises(ContentTooLarge, match="message 3 has 101 octets, and at most 100 are shown"):
        list(got(bench, ack=True, whole=True))
    assert (2, 0, 2) == (*counts(bench.queue), bench.queue.acked)
    assert [[3, 4]] == list(got(bench, whole=True))
    assert [[3, 4], None] == list(got(bench, ack=True))


def test_no_more_is_held_than_memory_may():
    bench = Bench()
    bench.flood(3)
    assert [[1, 2, 3]] == list(got(bench))
    module_max, module.HELD_OCTETS_MAX = module.HELD_OCTETS_MAX, 2
    try:
        assert [[1, 2]] == list(got(bench))
        assert [[1, 2], None] == list(got(bench, ack=True))
    finally:
        module.HELD_OCTETS_MAX = module_max


def test_what_is_on_disk_is_waited_for(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench()
    bench.fill(12)
    assert list(range(1, 13)) == [seq for batch in got(bench, messages_max=20) for seq in batch]
    assert (12, 0) == counts(bench.queue)


def test_a_caller_that_leaves_while_it_waits_takes_nothing(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench()
    bench.fill(12)
    head = bench.queue.messages_resident
    how = {"messages_max": 12, "ack": False, "body_octets_max": 100, "raw": False}
    found = bench.vhost.get_messages(bench.queue, None, cause=BROKER, pause=lambda _: None, **how)
    assert [] == next(found)
    assert 0 < head <= bench.queue.messages_unacknowledged
    found.close()
    bench.settle_down()
    assert (12, 0) == counts(bench.queue)
    assert not bench.queue.waiting


def test_a_delivery_limit_counts():
    bench = Bench(x_queue_type="quorum", x_delivery_limit=1)
    bench.flood(1)
    assert [[1]] == list(got(bench))
    assert (1, 0) == counts(bench.queue)
    assert [[1]] == list(got(bench))
    assert (0, 0) == counts(bench.queue)


def test_an_exclusive_queue_is_its_owners():
    world = World()
    world.connect().declare("q", exclusive=True)
    bench = Bench(world.vhost, "other")
    bench.queue = world.vhost.queues["q"]
    with pytest.raises(ResourceLocked):
        list(got(bench))


def test_a_queue_that_is_deleted_meanwhile_gives_no_more(monkeypatch):
    monkeypatch.setattr(shown, "BATCH_DOCUMENTS", 1)
    bench = Bench()
    bench.flood(3)
    batches = got(bench, ack=True)
    assert [1] == next(batches)
    bench.vhost.delete_queue(bench.queue)
    assert [[], None] == [batch for batch in batches if not batch]
    assert (0, 0) == counts(bench.queue)
