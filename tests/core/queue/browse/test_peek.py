"""Peeks: so many messages, some at a time."""

import functools
import operator

from pybroker.core.queue.browse import peek as module
from tests.readers import Bench


def batches(bench, **wish):
    found = bench.queue.peek(None, lambda _: None, **wish)
    return [[one["seq"] for one in batch] for batch in found]


def test_so_many_are_shown_and_no_more():
    bench = Bench()
    bench.flood(5)
    assert [1, 2, 3] == functools.reduce(operator.iadd, batches(bench, messages_max=3), [])
    assert [5, 4, 3] == functools.reduce(operator.iadd, batches(bench, messages_max=3, start="tail"), [])
    assert [1, 2, 3, 4, 5] == functools.reduce(operator.iadd, batches(bench), [])


def test_others_have_a_turn_after_a_share(monkeypatch):
    monkeypatch.setattr(module, "BATCH_MESSAGES", 8)
    monkeypatch.setattr(module, "LOOKED_AT_MAX", 20)
    bench = Bench()
    bench.flood(100)
    assert 1 < max(map(len, batches(bench, messages_max=100))) < 10
    looked = batches(bench, messages_max=100, text="nowhere")
    assert len(looked) >= 5
    assert not any(looked)


def test_bodies_make_a_batch_smaller(monkeypatch):
    monkeypatch.setattr(module, "BATCH_OCTETS", 1_000)
    bench = Bench()
    bench.publish(*[b"x" * 600] * 10)
    assert {2} == {len(batch) for batch in batches(bench) if batch}
