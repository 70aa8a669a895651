"""Incidents begin once, end once, and are told of until somebody heard."""

import pytest

from pybroker.spark.pipeline.alerts import incidents
from pybroker.spark.pipeline.alerts.incidents import Found
from pybroker.spark.pipeline.alerts.rules import Alert

CLEAR_S = 900
COLUMNS = [
    {"name": "queue", "help": ""},
    {"name": "verdict", "help": ""},
    {"name": "ready", "help": ""},
    {"name": "p99", "help": "", "detail": True},
    {"name": "node", "help": ""},
]
ROWS = [["q", "grows", 900, 1, "n"], ["r", "steady", 5, 1, "n"]]
GROWS = Found({"report": "backlog", "queue": "q"}, "q grows", "ready 900")


class Story:
    """A state, and what was told of since the last look."""

    def __init__(self):
        self.state = {}

    def at(self, now_s, *matching):
        incidents.update(self.state, "backlog", matching, now_s, CLEAR_S)
        told = [(one["since_s"], one.get("ended_s")) for one in self.state.get("outbox", {}).values()]
        self.state["outbox"] = {}
        return told


def test_rows_that_meet_a_rule_in_words():
    (one,) = incidents.found(Alert("backlog"), COLUMNS, ROWS)
    assert one.labels == {"report": "backlog", "queue": "q", "verdict": "grows", "node": "n"}
    assert (one.summary, one.figures) == ("backlog: queue q, verdict grows, node n", "ready 900")
    (other,) = incidents.found(Alert("backlog", "ready<10", 60), COLUMNS, ROWS)
    assert (other.summary, other.after_s) == ("backlog: queue r, verdict steady, node n (ready<10)", 60)
    assert len(incidents.found(Alert("backlog", "any"), COLUMNS, ROWS)) == 2
    assert one.key == incidents.found(Alert("backlog"), COLUMNS, [["q", "grows", 7, 7, "n"]])[0].key != other.key


def test_a_rule_that_does_not_fit_is_a_sentence():
    with pytest.raises(ValueError, match="the report blocked has no verdicts: say when"):
        incidents.found(Alert("blocked"), COLUMNS, ROWS)
    with pytest.raises(ValueError, match="there is no column x"):
        incidents.found(Alert("backlog", "x>1"), COLUMNS, ROWS)


def test_an_incident_is_told_of_when_it_begins_and_when_it_ends():
    story = Story()
    assert story.at(1_000, GROWS) == [(1_000, None)]
    assert story.at(1_060, GROWS) == []
    assert story.at(1_120) == []
    assert story.at(1_060 + CLEAR_S) == [(1_000, 1_060 + CLEAR_S)]
    assert story.state["incidents"] == {}
    assert story.at(3_000, GROWS) == [(3_000, None)]


def test_one_that_comes_and_goes_is_one():
    story = Story()
    assert story.at(1_000, GROWS) == [(1_000, None)]
    for now_s in range(1_060, 9_000, 600):
        assert story.at(now_s) == []
        assert story.at(now_s + 300, GROWS) == []


def test_a_rule_may_wait_before_it_raises():
    story = Story()
    patient = GROWS._replace(after_s=120)
    assert story.at(1_000, patient) == []
    # It was gone in between.
    assert [story.at(1_060), story.at(1_120, patient), story.at(1_180, patient)] == [[], [], []]
    assert story.at(1_240, patient) == [(1_120, None)]


def test_other_reports_are_left_alone_and_a_clock_set_back_ends_it_all_the_same():
    story = Story()
    story.at(1_000, GROWS)
    incidents.update(story.state, "slo", [], 9_000, CLEAR_S)
    assert len(incidents.raised(story.state)) == 1
    assert story.at(100) == []
    assert story.at(100 + CLEAR_S) == [(1_000, 100 + CLEAR_S)]


def test_an_end_takes_the_place_of_a_begin_that_was_not_told_of():
    state = {}
    incidents.update(state, "backlog", [GROWS], 1_000, 0)
    incidents.update(state, "backlog", [], 1_060, 0)
    (one,) = state["outbox"].values()
    assert (one["raised_s"], one["ended_s"]) == (1_000, 1_060)


def test_what_nobody_hears_is_forgotten_at_last(monkeypatch):
    monkeypatch.setattr(incidents, "OUTBOX_MAX", 2)
    state = {}
    for n in range(3):
        incidents.update(state, f"r{n}", [Found({"report": f"r{n}"}, "", "")], n, 0)
    assert [one["report"] for one in state["outbox"].values()] == ["r1", "r2"]
