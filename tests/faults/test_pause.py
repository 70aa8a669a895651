"""A queue that an operator pauses and resumes while the broker is killed: the order outlives it, confirms hold."""

import random

import pytest

from tests.faults.pauses import kept_although_refused, under_kills


def paused_under_kills(broker, publish_line, seed, kills):
    history, figures = under_kills(broker, kills, random.Random(seed))
    verdict = history.judge()
    figures["kept_although_refused"] = kept_although_refused(history)
    publish_line(verdict, **figures)
    assert (verdict.bad, verdict.void) == ({}, "")
    assert (figures["forgotten"], figures["kept_although_refused"]) == (0, 0)
    return figures, verdict


def test_pauses_and_messages_outlive_a_few_kills(broker, publish_line, seed):
    paused_under_kills(broker, publish_line, seed, 4)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_pauses_and_messages_outlive_50_kills(broker, publish_line, seed):
    figures, verdict = paused_under_kills(broker, publish_line, seed, 50)
    assert min(figures[name] for name in ("amid", "withheld", "refused", "held")) >= 3
    assert verdict.nacked
