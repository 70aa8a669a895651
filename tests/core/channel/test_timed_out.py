"""Tags that timed out against a naive dict, and how fast a channel that is stuck gives back."""

from typing import Any

from hypothesis import given, strategies as st

from pybroker.core.channel.timed_out import Span, TimedOutTags
from pybroker.core.channel.unacked import Batch
from tests.readers import run_of
from tests.topology import new_vhost, queue

QUEUE = queue(new_vhost(), "q")
CONSUMERS: Any = ("a", "b", None)


def batch(first: int, count: int, consumer: Any) -> Batch:
    return Batch(first, QUEUE, consumer, run_of([b"x"] * count), range(count), 0, 0)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(CONSUMERS)), max_size=8),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8),
)
def test_each_tag_is_answered_once_and_says_whose_it_was(lapses, answers):
    timed_out, model, tag = TimedOutTags(), {}, 1
    for gap, count, consumer in lapses:
        tag += gap
        timed_out.add(batch(tag, count, consumer))
        model |= dict.fromkeys(range(tag, tag + count), consumer)
        tag += count
    for first, last in map(sorted, answers):
        spans = timed_out.answered(first, last)
        found = {tag: span.consumer for span in spans for tag in range(span.first, span.last + 1)}
        expected = {tag: model.pop(tag) for tag in range(first, last + 1) if tag in model}
        assert expected == found
        assert len(model) == timed_out.count
        assert all((tag in timed_out) == (tag in model) for tag in range(45))


@given(st.permutations(range(1, 9)))
def test_in_whatever_order_they_lapse(tags):
    timed_out = TimedOutTags()
    for tag in tags:
        timed_out.add(batch(2 * tag, 1, None))
    assert [2, 4, 6, 8, 10, 12, 14, 16] == [span.first for span in timed_out.answered(0, 100)]


def test_what_follows_is_one_span():
    timed_out = TimedOutTags()
    for tag in range(1, 1_000):
        timed_out.add(batch(tag, 1, None))
    assert [Span(1, 999, None)] == timed_out.answered(0, 5_000)


def test_who_settles_nothing_loses_twice_as_many_each_time():
    timed_out = TimedOutTags()
    assert [1, 2, 4, 1, 2, 1] == [timed_out.next_pace(settled) for settled in (7, 7, 7, 8, 8, 9)]
