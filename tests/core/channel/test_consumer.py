"""How much a consumer can take, and what is remembered of what it took."""

import pytest
from hypothesis import given, strategies as st

from pybroker.core.channel.consumer import UNLIMITED
from pybroker.run import Entry
from tests.readers import Bench, run_of, seqs


@pytest.mark.parametrize(
    ("prefetch", "unacked", "of_channel", "unacked_of_channel", "expected"),
    [
        (0, 0, 0, 0, UNLIMITED),
        (3, 0, 0, 0, 3),
        (3, 2, 0, 2, 1),
        (3, 5, 0, 5, 0),  # the limit was lowered
        (0, 9, 5, 2, 3),
        (3, 0, 5, 4, 1),
        (3, 1, 5, 4, 1),
        (3, 0, 5, 9, 0),
    ],
)
def test_g15_credit_is_the_lower_of_its_own_and_the_channels(
    prefetch, unacked, of_channel, unacked_of_channel, expected
):
    reader = Bench().reader(prefetch=prefetch)
    reader.unacked = unacked
    reader.channel.prefetch_global = of_channel
    reader.channel.unacked_consumed = unacked_of_channel
    assert expected == reader.credit()


def test_f39_without_acknowledgements_its_own_limit_does_not_count_and_the_channels_does():
    reader = Bench().reader(prefetch=3, no_ack=True)
    reader.channel.prefetch_global = 9
    reader.channel.unacked_consumed = 8
    assert UNLIMITED == reader.credit()
    reader.channel.unacked_consumed = 9
    assert 0 == reader.credit()


@pytest.mark.parametrize("no_ack", [True, False])
def test_a_pause_and_a_full_outbox_stop_everything(no_ack):
    reader = Bench().reader(no_ack=no_ack)
    reader.channel.may_deliver = False
    assert 0 == reader.credit()
    reader.channel.may_deliver = True
    reader.channel.session.outbox_full = True
    assert 0 == reader.credit()


@given(counts=st.lists(st.integers(1, 5), min_size=1, max_size=6), no_ack=st.booleans(), at_once=st.booleans())
def test_tags_count_up_and_each_is_remembered_with_its_message(counts, no_ack, at_once):
    bench = Bench()
    reader = bench.reader(no_ack=no_ack)
    reader.octets_each = 10
    channel = reader.channel
    entries, seq = [], 1
    for count in counts:
        entries.append(Entry(run_of([b"x"] * count, seq), range(count), seq % 2))
        seq += count
    if at_once:
        reader.dispatch_all(entries, sum(counts), 50)
        assert sum(counts) * 10 == channel.session.octets
    else:
        for entry in entries:
            reader.dispatch(entry.run, entry.indexes, entry.deliveries, 50)
    total = sum(counts)
    assert (total + 1, list(range(1, total + 1))) == (channel.next_tag, reader.seqs)
    held = 0 if no_ack else total
    assert (held, held, held) == (reader.unacked, channel.unacked_consumed, channel.unacked.count)
    if not no_ack:
        batches = list(channel.unacked)
        assert list(range(1, total + 1)) == seqs(batches)
        assert [entry.deliveries for entry in entries] == [batch.deliveries for batch in batches]
        assert {(50, reader, bench.queue)} == {(b.delivered_ms, b.consumer, b.queue) for b in batches}


def test_it_resumes_only_where_it_waited_and_can_take_something():
    bench = Bench()
    reader = bench.reader(prefetch=1)
    bench.flood(3)
    bench.turn()
    assert reader.waiting
    reader.resume()
    assert reader.waiting
    reader.prefetch = 2
    reader.resume()
    assert not reader.waiting
    bench.turn()
    assert [1, 2] == reader.seqs
    bench.queue.consumers.remove(reader)
    reader.prefetch = 9
    reader.resume()
    bench.turn()
    assert [1, 2] == reader.seqs
