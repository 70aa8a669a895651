"""Service levels: for how long which queue kept its targets."""

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.alerts.rules import Target
from pybroker.spark.pipeline.jobs import slo
from pybroker.spark.pipeline.schemas import QUEUE_1M
from tests.spark.pipeline.jobs.rows import at, minutes

TARGETS = (Target("late*", head_age_s=60, share=0.9), Target("*", "shop", time_to_consume_s=30, share=0.5))


def minute(n, queue, ready=0, head_age_s=None, deliver=0, vhost="/"):
    age_ms = None if head_age_s is None else 1_000 * head_age_s
    row = {"ts": at(n), "last_ts": at(n, 50), "vhost": vhost, "queue": queue, "deliver": deliver}
    return row | {"ready_last": ready, "ready_max": ready, "head_age_ms_max": age_ms}


@pytest.fixture(scope="module")
def found():
    rows = [
        *(minute(n, "late", 10, 61 if n < 2 else 59, 5) for n in range(10)),
        # Nothing changes for ten minutes: after six nobody knows.
        minute(0, "late-silent", 1, 61),
        minute(10, "late-silent"),
        *(minute(n, "slow", 100, 1, 100 if n < 6 else 300, "shop") for n in range(10)),
        # It waits as long as the head did, at least.
        minute(0, "blocked", 100, 500, 0, "shop"),
        *(minute(n, "free", 10_000, 1_000) for n in range(10)),
        minute(0, "unknown", 5),
    ]
    return {row["queue"]: slo.judge(row) for row in slo.ages(minutes(QUEUE_1M, *rows), TARGETS)}


def test_the_age_of_the_head(found):
    late = found["late"]
    assert (late["verdict"], late["head_age_s"], late["head_age_kept"]) == ("missed", 61, 0.8)
    assert (late["missed_s"], late["known_s"], late["budget_left"]) == (120, 600, -1)
    assert "time_to_consume_kept" not in late
    sentence = "queue 'late' in vhost '/': the age of the head was above 1 min for 20.0% of the time, at most 1 min 1 s"
    assert slo.advice(late) == sentence
    silent = found["late-silent"]
    assert (silent["missed_s"], silent["known_s"]) == (360, 420)


def test_the_time_to_consume(found):
    slow = found["slow"]
    # Of a hundred that wait, a hundred leave in a minute: 60 s; then three hundred: 20 s.
    assert (slow["verdict"], slow["time_to_consume_s"], slow["time_to_consume_kept"]) == ("missed", 60, 0.4)
    assert found["blocked"]["time_to_consume_s"] == 500


def test_without_a_target_nothing_is_judged(found):
    free = found["free"]
    assert (free["verdict"], free["head_age_s"], free["missed_s"]) == ("no target", 1_000, None)
    # An older node does not tell ages.
    assert "unknown" not in found


def test_a_policy_may_have_the_target():
    policy = {"head_age_target_ms": 60_000, "time_to_consume_target_ms": 1_500}
    rows = [
        *(minute(n, "ruled late", 10, 61, 600) | policy for n in range(10)),
        # It had none at first.
        *(minute(n, "late", 10, 61, 600) | (policy if n >= 4 else {}) for n in range(10)),
        *(minute(n, "without", 10, 61, 600) for n in range(10)),
    ]
    rules = (Target("ruled*", head_age_s=100),)
    found = {row["queue"]: slo.judge(row) for row in slo.ages(minutes(QUEUE_1M, *rows), rules)}
    assert (found["ruled late"]["verdict"], found["ruled late"]["head_age_target_s"]) == ("met", 100)
    late = found["late"]
    assert (late["verdict"], late["head_age_target_s"], late["time_to_consume_target_s"]) == ("missed", 60, 1.5)
    assert (late["head_age_kept"], late["missed_s"], late["share"]) == (0.4, 360, 0.99)
    assert found["without"]["verdict"] == "no target"
