"""Dead letters that stay with their queue: when they are tried again, in which order, and what stands in their way."""

from collections import deque
from dataclasses import replace

import pytest

from pybroker.core.policy.limits import REJECT_PUBLISH
from pybroker.core.queue.dead_letter.retry import (
    CROWD_MESSAGES,
    RETRY_MS,
    RETRY_MS_MAX,
    TRIED_MESSAGES,
    Retry,
    obstacle,
)
from pybroker.message import Message
from pybroker.run import Entry
from tests.readers import Bench, run_of
from tests.topology import new_vhost


@pytest.fixture
def bench() -> Bench:
    return Bench(new_vhost(), "q", x_dead_letter_exchange="dlx")


def message(index: int = 0, count: int = 1) -> Message:
    return Message(run_of([b"xyz"] * count), index)


def test_nothing_is_due_that_was_not_tried(bench):
    retry = Retry(bench.queue)
    retry.count([Entry(run_of([b"xyz"] * 3), range(3))])
    assert (0, 3, 9) == (len(retry), retry.messages, retry.octets)
    assert not retry.is_due(bench.queue, 1 << 40)


def test_each_time_it_is_tried_later_until_something_goes_or_changes(bench):
    retry, now_ms = Retry(bench.queue), 0
    pauses = []
    for _ in range(8):
        retry.add(message(), "rejected", now_ms)
        due = next(ms for ms in range(0, 10**6, 100) if retry.is_due(bench.queue, now_ms + ms))
        pauses.append(due)
        now_ms += due
        assert 1 == len(retry.pop_tried(bench.queue))
    assert [RETRY_MS, 2_000, 4_000, 8_000, 16_000, *[RETRY_MS_MAX] * 3] == pauses
    retry.gone(message())
    retry.add(message(), "rejected", now_ms)
    assert retry.is_due(bench.queue, now_ms + RETRY_MS)
    retry.pop_tried(bench.queue)
    retry.add(message(), "rejected", now_ms)
    assert not retry.is_due(bench.queue, now_ms)
    bench.vhost.bump()
    assert retry.is_due(bench.queue, now_ms)


def test_with_many_of_them_those_behind_are_not_tried_and_all_keep_their_order(bench):
    retry = Retry(bench.queue)
    line = deque([(Entry(run_of([b"xyz"] * 100), range(50, 100)), "rejected")])
    for i in range(TRIED_MESSAGES):
        assert not retry.stops(line)
        retry.add(message(i, 100), "rejected", 0)
    assert retry.stops(line)
    assert TRIED_MESSAGES + 50 == len(retry)
    assert not retry.next_line()
    again = retry.pop_tried(bench.queue)
    assert [*range(TRIED_MESSAGES)] == [i for entry, _ in again for i in entry.indexes]
    assert line is retry.next_line()  # as it was: a million of them are not copied at each trial
    assert 0 == len(retry)


def test_what_is_tried_again_stays_in_front_of_those_behind(bench):
    retry = Retry(bench.queue)
    run = run_of([b"xyz"] * 100)
    for i in range(TRIED_MESSAGES - 1):
        retry.add(message(i, 100), "rejected", 0)
    retry.untried.append((Entry(run, range(50, 100)), "rejected"))
    retry.add(message(TRIED_MESSAGES - 1, 100), "rejected", 0)
    assert retry.stops(deque([(Entry(run, range(40, 41)), "rejected"), (Entry(run, range(41, 42)), "rejected")]))
    assert [40, 41, *range(50, 100)] == [i for entry, _ in retry.untried for i in entry.indexes]


def test_very_many_are_a_crowd(bench):
    retry = Retry(bench.queue)
    run = run_of([b"x"])
    retry.count([Entry(run, range(1))] * CROWD_MESSAGES)
    assert not retry.crowded
    retry.count([Entry(run, range(1))])
    assert retry.crowded


def test_what_stands_in_the_way(bench):
    free, full = Bench(bench.vhost, "free"), Bench(bench.vhost, "full", x_max_length=1, x_overflow="reject-publish")
    assert "exchange 'dlx' is missing or routes to no queue" == obstacle(bench.queue, message(), ())
    targets = (free.queue, full.queue)
    assert "" == obstacle(bench.queue, message(), targets)
    full.flood(1)
    assert "queue 'full' in vhost '/' is full" == obstacle(bench.queue, message(), targets)
    full.reader()
    assert "" == obstacle(bench.queue, message(), targets)
    full.queue.set_limits(replace(full.queue.limits, length_max=None, octets_max=2))
    assert "" != obstacle(bench.queue, message(), targets)
    full.queue.set_limits(replace(full.queue.limits, octets_max=3, overflow=REJECT_PUBLISH))
    assert "" == obstacle(bench.queue, message(), targets)
