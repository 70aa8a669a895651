"""The HTML page: well formed, needs nothing from elsewhere, and what is in it is shown, not run."""

import re
from html.parser import HTMLParser

from pybrokerctl.reports import page
from tests.ctl.reports.sample import REPORT

VOID = {"meta", "br", "line", "rect", "input"}


class Reader(HTMLParser):
    """Keeps the texts, and whether each element that was opened is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.places = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.places += [value for name, value in attributes if name in {"src", "href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data.strip())


def text(**changes):
    return "".join(page.page({**REPORT, **changes}))


def test_the_page_is_whole_and_stands_alone():
    reader = Reader(text())
    assert (reader.open, reader.places) == ([], [])
    assert "<script" not in text()
    assert not re.search(r"url\(|@import|https?:", text())
    assert "prefers-color-scheme: dark" in text()


def test_what_people_read():
    texts = Reader(text()).texts
    for expected in (
        "Blocked: blocked and throttled connections, with durations and causes",
        "2026-01-05 00:00:00 to 2026-01-06 00:00:00, created at 2026-01-06 00:05:00 (UTC)",
        "held, s",
        "61.5",
        "<n@h.1.7.0>",
        "pybrokerctl set_vm_memory_high_watermark 0.7",
        "Rows omitted: 3; the tables contain them.",
        "Memory used",
    ):
        assert expected in texts


def test_incomplete_telemetry_is_told_of_and_times_are_for_people():
    assert "Telemetry incomplete: n: <nothing>" in Reader(text(incomplete=["n: <nothing>"])).texts
    columns = [{"name": "full_in_s", "help": "seconds"}]
    texts = Reader(text(columns=columns, rows=[[456.0], [0.5], [93_600]])).texts
    assert {"full in", "7 min 36 s", "0.5 s", "1 d 2 h"} <= {*texts}


def test_names_cannot_be_markup():
    evil = '<script>alert("x")</script>'
    shown = text(rows=[[evil, 1, 0.5, evil]], advice=[evil], summary=[[evil, evil]])
    assert evil not in shown
    assert evil in Reader(shown).texts


def test_verdicts_have_their_colour_and_a_report_without_rows_says_so():
    assert '<td class="bad" data-name="verdict">grows</td>' in text()
    assert '<td class="good" data-name="verdict">fine</td>' in text()
    assert "Nothing to report." in Reader(text(rows=[])).texts


def test_no_character_turns_or_breaks_what_follows():
    steering = "q\u202egpj.exe\u2028\u2066"
    row = [f"{one}{steering}" if isinstance(one, str) else one for one in REPORT["rows"][0]]
    plots = [{**plot, "title": steering} for plot in REPORT["plots"]]
    shown = text(rows=[row], advice=[steering], plots=plots, summary=[[steering, steering]])
    assert not set(shown) & set("\u202e\u2028\u2066")
    assert r"q\u202egpj.exe\u2028\u2066" in shown


def test_details_are_hidden_until_they_are_asked_for():
    columns = [*REPORT["columns"][:3], {**REPORT["columns"][3], "detail": True}]
    shown = text(columns=columns)
    assert '<td class="detail bad" data-name="verdict">grows</td>' in shown
    assert "Show 1 more column" in Reader(shown).texts
    # No script: the box is a sibling of the table.
    assert shown.index('type="checkbox"') < shown.index("<table>")
    assert 'type="checkbox"' not in text()


def test_figures_of_a_forecast_are_octets_where_its_resource_is():
    columns = [{"name": name, "help": ""} for name in ("resource", "current", "reached_in_s")]
    rows = [["memory", 3 << 20, 60], ["messages", 3_000, None], ["disk", None, 0.5]]
    texts = Reader(text(columns=columns, rows=rows)).texts
    assert {"3.0 MiB", "3,000", "1 min", "current"} <= {*texts}
