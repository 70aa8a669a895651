"""Peeks: so many messages, some at a time."""

import functools
import operator
from base64 import b64decode

from pybroker.core.queue.browse import document, peek as module, shown
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
    monkeypatch.setattr(shown, "BATCH_DOCUMENTS", 8)
    monkeypatch.setattr(module, "LOOKED_AT_MAX", 20)
    bench = Bench()
    bench.flood(100)
    assert 1 < max(map(len, batches(bench, messages_max=100))) < 10
    looked = batches(bench, messages_max=100, text="nowhere")
    assert len(looked) >= 5
    assert not any(looked)


def test_bodies_make_a_batch_smaller(monkeypatch):
    monkeypatch.setattr(shown, "BATCH_OCTETS", 1_000)
    bench = Bench()
    bench.publish(*[b"x" * 600] * 10)
    assert {2} == {len(batch) for batch in batches(bench) if batch}


def test_a_long_body_comes_in_parts_of_a_step_each(monkeypatch):
    monkeypatch.setattr(document, "PART_OCTETS", 3_000)
    bench = Bench()
    body = bytes(range(256)) * 40
    bench.publish(b"short", body, b"end")
    found = list(bench.queue.peek(None, lambda _: None, body_octets_max=100_000))
    first, whole, *parts, end = functools.reduce(operator.iadd, found, [])
    assert (first["body"], "body_parts" in first, end["body"]) == ("short", False, "end")
    assert (whole["body_parts"], whole["body_format"], whole["body_cut"]) == (3, "base64", False)
    assert body == b64decode(whole["body"] + "".join(part["body_part"] for part in parts))
    assert {whole["seq"]} == {part["seq"] for part in parts}


def test_raw_bodies_come_in_parts_too_and_no_more_than_asked(monkeypatch):
    monkeypatch.setattr(document, "PART_OCTETS", 3_000)
    bench = Bench()
    bench.publish(b"x" * 10_000, b"y" * 100)
    found = list(bench.queue.peek(None, lambda _: None, body_octets_max=7_000, raw=True))
    long, *parts, short = functools.reduce(operator.iadd, found, [])
    assert (long["body_parts"], long["body_cut"], len(parts), "body_parts" in short) == (2, True, 2, False)
    assert b"x" * 7_000 == b64decode(long["body"] + "".join(part["body_part"] for part in parts))


def test_there_is_a_place_to_pause_behind_each_message():
    bench = Bench()
    bench.flood(300)
    pauses = []
    for _ in bench.queue.peek(None, pauses.append, messages_max=1_000, text="nowhere"):
        pass
    assert pauses.count(0) >= 300
