"""Messages dropped or refused by a full queue: the same, whether they came one by one or together."""

import pytest
from hypothesis import given, strategies as st

from pybroker.core.channel.receipt import Receipt
from pybroker.run import RunAttributes
from tests.readers import Bench, run_of


def sizes_of(bench: Bench) -> list[int]:
    return [len(body) for body in bench.bodies()]


def naive(sizes: list[int], length: int | None, octets: int | None, *, drop_head: bool) -> tuple[list[int], set[int]]:
    """Return the sizes that are left, and the places of those refused."""
    left: list[int] = []
    refused = set()
    for place, size in enumerate(sizes):
        if not drop_head:
            full = (length is not None and len(left) >= length) or (octets is not None and sum(left) + size > octets)
            if full:
                refused.add(place)
                continue
        left.append(size)
        while (length is not None and len(left) > length) or (octets is not None and sum(left) > octets):
            del left[0]
    return left, refused


@given(
    chunks=st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=8), min_size=1, max_size=5),
    length=st.none() | st.integers(0, 8),
    octets=st.none() | st.integers(0, 40),
    overflow=st.sampled_from(["drop-head", "reject-publish"]),
)
def test_f32_limits_hold_as_if_messages_came_one_at_a_time(chunks, length, octets, overflow):
    arguments = {"x_max_length": length, "x_max_length_bytes": octets, "x_overflow": overflow}
    bench = Bench(**{key: value for key, value in arguments.items() if value is not None})
    refused: set[int] = set()
    before = 0
    for sizes in chunks:
        receipt = Receipt()
        bench.publish(*[b"x" * size for size in sizes], receipt=receipt)
        refused |= {before + place for place in receipt.rejected}
        before += len(sizes)
    sizes = [size for chunk in chunks for size in chunk]
    left, expected = naive(sizes, length, octets, drop_head=overflow == "drop-head")
    assert (left, expected) == (sizes_of(bench), refused)
    assert (sum(left), len(left)) == (bench.queue.backlog.octets_ready, bench.queue.messages_ready)
    assert len(sizes) - len(refused) == bench.queue.published
    assert len(sizes) - len(refused) - len(left) == bench.queue.dropped


def test_reject_publish_takes_the_first_half_of_a_run_and_refuses_the_second():
    bench = Bench(x_max_length=3, x_overflow="reject-publish")
    receipt = Receipt()
    bench.publish(*[b"x"] * 6, receipt=receipt)
    assert ([1, 2, 3], {3, 4, 5}) == (bench.ready(), receipt.rejected)


def test_a_receipt_counts_from_the_publishs_own_first_message():
    bench = Bench(x_max_length=2, x_overflow="reject-publish")
    run = run_of([b"x"] * 5)
    receipt = Receipt()
    receipt.index = 2  # the run had grown to two before
    bench.queue.enqueue(run, range(2, 5), receipt)
    assert ([3, 4], {2}) == (bench.ready(), receipt.rejected)


def test_a_smaller_message_may_fit_where_the_one_before_it_did_not():
    bench = Bench(x_max_length_bytes=10, x_overflow="reject-publish")
    receipt = Receipt()
    bench.publish(b"12345678", b"123", b"90", b"x", receipt=receipt)
    assert bench.queue.one_by_one
    assert ([8, 2], {1, 3}) == (sizes_of(bench), receipt.rejected)


def test_drop_head_by_octets_makes_room_for_what_came_last():
    bench = Bench(x_max_length_bytes=10)
    bench.publish(*[b"x" * 3] * 3)
    bench.publish(b"x" * 8)
    assert ([8], 3) == (sizes_of(bench), bench.queue.dropped)
    assert not bench.queue.one_by_one


@pytest.mark.parametrize("overflow", ["drop-head", "reject-publish"])
def test_consumers_take_what_they_can_before_anything_is_too_much(overflow):
    bench = Bench(x_max_length=2, x_overflow=overflow)
    reader = bench.reader(prefetch=3)
    receipt = Receipt()
    bench.publish(*[b"x"] * 9, receipt=receipt)
    assert [1, 2, 3] == reader.seqs
    expected = ([8, 9], set()) if overflow == "drop-head" else ([4, 5], {5, 6, 7, 8})
    assert expected == (bench.ready(), receipt.rejected)


def test_returned_messages_count_and_the_oldest_of_all_goes():
    bench = Bench(x_max_length=3)
    reader = bench.reader(prefetch=2)
    bench.flood(2)
    bench.turn()
    bench.queue.consumers.remove(reader)
    bench.flood(3)
    reader.channel.give_back(reader.channel.unacked.pop_up_to(0) or [], requeue=True)
    assert ([3, 4, 5], 2) == (bench.ready(), bench.queue.dropped)


def test_reject_publish_lets_returned_ones_in():
    bench = Bench(x_max_length=2, x_overflow="reject-publish")
    reader = bench.reader(prefetch=2)
    bench.flood(2)
    bench.turn()
    bench.queue.consumers.remove(reader)
    bench.flood(2)
    reader.channel.give_back(reader.channel.unacked.pop_up_to(0) or [], requeue=True)
    assert [1, 2, 3, 4] == bench.ready()


def test_heads_are_those_of_the_highest_priority():
    # As RabbitMQ: a full queue loses its most urgent messages first.
    bench = Bench(x_max_length=3, x_max_priority=5)
    bench.flood(3, RunAttributes(priority=1))
    bench.flood(2, RunAttributes(priority=4))
    assert ([1, 2, 3], 2) == (bench.ready(), bench.queue.dropped)


def test_refused_messages_do_not_take_older_ones_with_them():
    bench = Bench(x_max_length=3, x_overflow="reject-publish", x_max_priority=2)
    bench.flood(2, RunAttributes(priority=2))
    receipt = Receipt()
    bench.publish(b"a", b"b", b"c", receipt=receipt)
    assert ([1, 2, 3], {1, 2}) == (bench.ready(), receipt.rejected)


@pytest.mark.parametrize("dead_letters", [True, False])
def test_reject_publish_dlx_sends_the_refused_on(dead_letters):
    arguments = {"x_dead_letter_exchange": "amq.fanout"} if dead_letters else {}
    bench = Bench(x_max_length=1, x_overflow="reject-publish-dlx", **arguments)
    receipt = Receipt()
    bench.publish(b"a", b"b", b"c", receipt=receipt)
    assert ([1], {1, 2}) == (bench.ready(), receipt.rejected)
    assert (2 if dead_letters else 0) == len(bench.broker.dead_letters)
