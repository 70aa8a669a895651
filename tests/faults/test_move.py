"""Messages that an operator moves while the broker is killed: none is lost, none is there twice."""

import random

import pytest

from tests.checker import Verdict
from tests.faults import moves


def moved_under_kills(broker, publish_line, seed, count, kills, life_s):
    broker.start()
    moves.declare(broker.address, a={}, b={})
    moves.fill(broker.address, "a", count)
    figures = moves.to_and_fro(broker, count, kills, random.Random(seed), life_s)
    verdict = Verdict(n=count, confirmed=count, lost=figures["lost"], duplicate=figures["twice"], faults=kills)
    publish_line(verdict, answered=figures["answered"], amid=figures["amid"])
    assert verdict.bad == {}
    return figures


def test_nothing_is_lost_or_twice_after_a_few_kills(broker, publish_line, seed):
    moved_under_kills(broker, publish_line, seed, 30_000, 3, 0.3)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_nothing_is_lost_or_twice_after_50_kills(broker, publish_line, seed):
    figures = moved_under_kills(broker, publish_line, seed, 1_000_000, 50, 4.0)
    assert figures["amid"] >= 10
