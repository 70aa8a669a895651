"""Final rows: of each thing that was seen, of some that were not, and sums of all others that lose nothing."""

import random

from pybroker.daemon.telemetry import ends as telemetry_ends
from pybroker.daemon.telemetry.ends import Ends


def name(row):
    return {"vhost": "" if row is None else row["vhost"], "queue": "(others)", "queue_id": 0}


def row(number, published=1, vhost="/"):
    return {"vhost": vhost, "queue": f"q{number}", "publish_total": published, "deliver_total": 0, "ready": 0}


def test_a_thing_that_no_look_has_seen_is_marked_and_one_that_one_has_is_not():
    ends = Ends({1}, name)
    assert ends.add(1, row(1))
    assert ends.add(2, row(2))
    assert [(each["queue"], each.get("first")) for each in ends.pop()] == [("q1", None), ("q2", True)]
    assert (ends.pop(), ends.sums()) == ([], [])


def test_what_nothing_went_through_is_only_counted():
    ends = Ends({1}, name)
    ends.add(1, row(1, published=0))
    ends.add(2, row(2, published=0))
    assert [each["queue"] for each in ends.pop()] == ["q1"]
    (others,) = ends.sums()
    assert (others["others"], others["publish_total"], others["first"]) == (1, 0, True)


def test_a_million_that_come_and_go_are_few_rows_and_no_message_is_lost(monkeypatch):
    monkeypatch.setattr(telemetry_ends, "UNSEEN_MAX", 10)
    monkeypatch.setattr(telemetry_ends, "SUMS_MAX", 3)
    dice, ends, published, rows = random.Random(7), Ends((), name), 0, []
    sums = {}
    for _ in range(5):
        for number in range(1_000):
            count = dice.randrange(5)
            published += count
            ends.add(number, row(number, count, dice.choice("abcdef")))
        rows += ends.pop()
        for each in ends.sums():
            assert each.get("first") == (None if each["vhost"] in sums else True)
            sums[each["vhost"]] = each
    assert len(rows) == 50
    assert len(sums) == 4
    assert sum(each["publish_total"] for each in (*rows, *sums.values())) == published
    assert sum(each["others"] for each in sums.values()) == 5_000 - 50


def test_more_than_may_wait_is_refused(monkeypatch):
    monkeypatch.setattr(telemetry_ends, "ROWS_MAX", 2)
    ends = Ends({1, 2, 3}, name)
    assert [ends.add(number, row(number)) for number in (1, 2, 3)] == [True, True, False]
    assert len(ends) == 2
