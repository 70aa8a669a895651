import json
from datetime import UTC, datetime, timedelta

from pybroker.spark.pipeline.run import POINTS_MAX, ROWS_MAX, Run, Window, iso, milliseconds
from pybroker.spark.pipeline.tables import Warehouse

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def test_a_window_touches_the_dates_it_has_a_moment_of():
    midnight = datetime(2026, 1, 7, tzinfo=UTC)
    assert [str(day) for day in Window(NOON, midnight).dates] == ["2026-01-05", "2026-01-06"]
    assert [str(day) for day in Window(NOON, midnight + timedelta(seconds=1)).dates][-1] == "2026-01-07"


def test_a_plot_has_no_more_points_than_can_be_seen():
    for hours in (1, 24, 24 * 30):
        window = Window(NOON, NOON + timedelta(hours=hours))
        assert hours * 3_600 / window.bucket_s <= POINTS_MAX
        assert window.bucket_s % 60 == 0


def test_a_report_is_plain_and_short(tmp_path):
    run = Run(None, Warehouse(tmp_path, NOON), tmp_path, Window(NOON, NOON + timedelta(hours=1)))
    rows = [(n, NOON, 0.123456, None) for n in range(ROWS_MAX + 5)]
    columns = [("n", "number"), ("at", "when"), ("part", "share"), ("none", "nothing")]
    assert run.report("x", columns, rows, summary=[("first", NOON)]) == {"rows": ROWS_MAX + 5}
    document = json.loads((tmp_path / "_reports/x.json").read_text())
    assert document["rows"][0] == [0, "2026-01-05 12:00:00", 0.123, None]
    assert (len(document["rows"]), document["rows_left_out"]) == (ROWS_MAX, 5)
    assert document["summary"] == [["first", "2026-01-05 12:00:00"]]
    assert (document["since"], document["until"]) == ("2026-01-05 12:00:00", "2026-01-05 13:00:00")


def test_times_are_utc():
    local = NOON.astimezone().replace(tzinfo=None)
    assert iso(local) == "2026-01-05 12:00:00"
    assert milliseconds(local) == 1_767_614_400_000


def test_who_wants_quiet_has_it(tmp_path, capsys):
    run = Run(None, Warehouse(tmp_path), tmp_path, Window(NOON, NOON), quiet=True)
    run.say("x")
    run._replace(quiet=False).say("y")
    assert capsys.readouterr() == ("", "y\n")
