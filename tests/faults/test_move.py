"""Messages that an operator moves while the broker is killed: none is lost, none is there twice."""

import random

import pytest

from tests.checker import Verdict
from tests.faults import moves
from tests.faults.load import ready, wait_until

WAYS = {
    "moved": ({}, {}),
    "redriven": ({}, {"redrive": True}),
    "to a queue that refuses": ({"x-max-length": 0.6, "x-overflow": "reject-publish"}, {"full": True}),
    "to a queue that drops": ({"x-max-length": 0.6}, {"full": True}),
}


def moved_under_kills(broker, publish_line, seed, way, count, kills, life_s):
    arguments, options = WAYS[way]
    limited = {key: int(count * value) if isinstance(value, float) else value for key, value in arguments.items()}
    broker.start()
    moves.declare(broker.address, a={}, b=limited)
    moves.fill(broker.address, "a", count, properties=moves.dead_letter("b"))
    figures = moves.to_and_fro(broker, count, kills, random.Random(seed), life_s, **options)
    verdict = Verdict(n=count, confirmed=count, lost=figures["lost"], duplicate=figures["twice"], faults=kills)
    publish_line(verdict, way=way, answered=figures["answered"], amid=figures["amid"])
    assert verdict.bad == {}
    return figures


@pytest.mark.parametrize("way", ["moved", "redriven"])
def test_nothing_is_lost_or_twice_after_a_few_kills(broker, publish_line, seed, way):
    moved_under_kills(broker, publish_line, seed, way, 30_000, 2, 0.3)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_lost_or_twice_after_50_kills(broker, publish_line, seed, way):
    figures = moved_under_kills(broker, publish_line, seed, way, 1_000_000, 50, 4.0)
    assert figures["amid"] >= 10


def deleted_under_kills(broker, publish_line, seed, count, kills, life_s):
    broker.start()
    moves.declare(broker.address, a={}, b={})
    figures = moves.to_deleted(broker, count, kills, random.Random(seed), life_s)
    verdict = Verdict(
        n=count * kills, confirmed=count * kills, lost=figures["lost"], duplicate=figures["twice"], faults=kills
    )
    told = {name: figures[name] for name in ("deleted", "answered", "amid", "amid_delete")}
    publish_line(verdict, way="to a queue that is deleted", **told)
    assert verdict.bad == {}
    return figures


def test_nothing_is_lost_or_twice_when_the_target_is_deleted_before_a_kill(broker, publish_line, seed):
    deleted_under_kills(broker, publish_line, seed, 20_000, 3, 0.3)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_nothing_is_lost_or_twice_when_the_target_is_deleted_before_50_kills(broker, publish_line, seed):
    figures = deleted_under_kills(broker, publish_line, seed, 100_000, 50, 2.0)
    assert figures["amid"] >= 10
    assert figures["amid_delete"] >= 5


def test_a_target_that_is_deleted_takes_no_more_with_it_than_it_was_given(broker):
    broker.start()
    moves.declare(broker.address, a={}, b={})
    moves.fill(broker.address, "a", 30_000)
    mover = moves.Mover(broker, "move_messages", source="a", to="b", rate="20000/s")
    wait_until(lambda: ready(broker.address, "b")[0] > 1_000, "messages have moved")
    broker.ctl("delete_queue", "b")
    mover.join(30)
    moved, _, why = mover.refused.partition(" messages moved, then it stopped: ")
    assert why == "queue 'b' in vhost '/' was deleted"
    left = 30_000 - int(moved.replace(",", ""))
    assert ready(broker.address, "a") == [left]
    broker.kill()
    broker.start()
    assert moves.drain(broker.address, "a") == list(range(30_000 - left, 30_000))
