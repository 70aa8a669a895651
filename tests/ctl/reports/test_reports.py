"""Reports are found, shown in every form, and looked at for what is bad news."""

import json

import pytest

from pybroker.control.spec import BadArguments, Refused
from pybrokerctl import reports
from pybrokerctl.options import Options
from tests.ctl.reports.sample import REPORT


@pytest.fixture
def warehouse(tmp_path):
    (tmp_path / "_reports").mkdir()
    (tmp_path / "_reports/blocked.json").write_text(json.dumps(REPORT))
    return str(tmp_path)


def shown(form, **options):
    return "".join(reports.show(REPORT, form, Options(formatter=form, **options)))


def test_a_report_is_read_from_the_warehouse(warehouse):
    assert reports.read(warehouse, "blocked") == REPORT


def test_one_that_is_not_there_yet_says_what_makes_it(warehouse):
    with pytest.raises(Refused) as caught:
        reports.read(warehouse, "alarms")
    assert caught.value.exit_code == 69
    what = "the report 'alarms' was not made yet: run 'pybrokerctl pipeline run all', or add --fresh"
    assert caught.value.text == f"{what} ({warehouse}/_reports/alarms.json)"


@pytest.mark.parametrize("octets", ["{", '{"v": 2}'])
def test_one_that_is_none_is_refused(warehouse, tmp_path, octets):
    (tmp_path / "_reports/blocked.json").write_text(octets)
    with pytest.raises(Refused) as caught:
        reports.read(warehouse, "blocked")
    assert caught.value.exit_code == 65
    assert caught.value.text.endswith("run 'pybrokerctl pipeline run blocked'")


def test_the_table_has_what_it_is_about_above_it():
    lines = shown("table").splitlines()
    assert (
        lines[0] == "Report blocked from 2026-01-05 00:00:00 to 2026-01-06 00:00:00, created at 2026-01-06 "
        "00:05:00 (UTC)"
    )
    assert lines[1:3] == ["connections held back: 2", "longest: none"]
    assert lines[3].startswith(" * memory: pybrokerctl set_vm")
    assert lines[4] == "Rows omitted: 3; the tables contain them"
    assert lines[5:] == [
        "conn_id\theld_ms\tshare\tverdict",
        "<n@h.1.7.0>\t61500\t0.25\tgrows",
        "<n@h.1.9.0>\t500\t\tfine",
    ]
    assert shown("table", quiet=True).splitlines() == lines[5:]


def test_incomplete_telemetry_is_told_of_first():
    report = {**REPORT, "incomplete": ["n: nothing from A to B (1 min)"], "seen_until": "2026-01-05 23:00:00"}
    lines = "".join(reports.show(report, "table", Options(formatter="table"))).splitlines()
    assert lines[1] == "Telemetry incomplete: n: nothing from A to B (1 min)"
    document = json.loads("".join(reports.show(report, "json", Options(formatter="json"))))
    assert (document["incomplete"], document["seen_until"]) == (report["incomplete"], "2026-01-05 23:00:00")


def test_programs_get_rows_and_nothing_else():
    assert shown("csv").splitlines()[:2] == [
        '"conn_id","held_ms","share","verdict"',
        '"<n@h.1.7.0>",61500,0.25,"grows"',
    ]
    document = json.loads(shown("json"))
    assert document["rows"][1] == {"conn_id": "<n@h.1.9.0>", "held_ms": 500, "share": None, "verdict": "fine"}
    assert document["summary"] == {"connections held back": 2, "longest": None}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (None, False),
        ("any", True),
        ("held_ms>61499", True),
        ("held_ms > 61500", False),
        ("held_ms>=61500", True),
        ("held_ms<500", False),
        ("held_ms<=500", True),
        ("share!=0.25", False),
        ("verdict==grows", True),
        ("verdict==drains", False),
        ("verdict!=grows", True),
    ],
)
def test_conditions(condition, expected):
    assert reports.condition(condition)(REPORT) is expected


def test_a_condition_that_makes_no_sense_is_refused_before_anything_is_done():
    with pytest.raises(BadArguments, match="--fail-on must be"):
        reports.condition("held_ms")
    with pytest.raises(Refused, match="there is no column x: conn_id, held_ms"):
        reports.condition("x>1")(REPORT)


def test_people_see_the_chosen_columns_and_programs_all():
    columns = [*REPORT["columns"][:3], {**REPORT["columns"][3], "detail": True}]
    report = {**REPORT, "columns": columns}

    def lines(form, **more):
        return "".join(reports.show(report, form, Options(formatter=form), **more)).splitlines()

    assert lines("table")[5:] == [
        "conn_id\theld_ms\tshare",
        "<n@h.1.7.0>\t61500\t0.25",
        "<n@h.1.9.0>\t500\t",
        "--details shows 1 more column",
    ]
    assert lines("table", details=True)[5] == "conn_id\theld_ms\tshare\tverdict"
    assert lines("csv")[0] == '"conn_id","held_ms","share","verdict"'
    assert '"verdict"' in "".join(lines("json"))
