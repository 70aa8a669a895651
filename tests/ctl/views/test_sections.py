import pytest

from pybrokerctl.render.pretty_table import width
from pybrokerctl.views.sections import show
from tests.ctl.typist import plain

SECTIONS = {
    "Runtime": ["OS PID: 5", "OS: Linux"],
    "Alarms": ["memory"],
    "Config files": [],
    "Log file(s)": [f" * {'/very/long' * 12}", "a sentence of several words that does not fit into half of a screen"],
    "Totals": ["Queue count: 1"],
}


def lines(monkeypatch, columns: int, **options) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    return "".join(show(SECTIONS, drawn=True, **options)).splitlines()


def test_a_pipe_gets_rabbitmqctls_form():
    text = "".join(show({"A": ["x", "y"], "B": []}, drawn=True))
    assert text == "".join(show({"A": ["x", "y"], "B": []}, drawn=False)) == "A\n\nx\ny\n\nB\n\n"


def test_a_terminal_whose_person_asked_for_a_table_gets_it_too(person):
    assert "\x1b" not in "".join(show(SECTIONS, drawn=False))


def test_people_get_titles_in_bold_and_lines_below_them(person):
    shown = lines(person, 80)
    assert shown[:4] == ["\x1b[1mRuntime\x1b[0m", "  OS PID: 5", "  OS: Linux", ""]


def test_alarms_are_seen_first(person):
    assert "\x1b[1;31mAlarms\x1b[0m" in lines(person, 80, alarming=["Alarms"])


@pytest.mark.parametrize("columns", [40, 80, 119, 120, 140, 200])
def test_nothing_is_wider_than_the_terminal_and_nothing_is_lost(person, columns):
    shown = [plain(line) for line in lines(person, columns)]
    assert max(map(width, shown)) < columns
    words = " ".join(shown).split()
    for title, expected in SECTIONS.items():
        assert set(title.split()) <= set(words)
        assert {word for line in expected for word in line.split() if len(word) < 20} <= set(words)
    assert "".join(shown).count("/very/long") <= 12
    assert "".join("".join(shown).split()).count("long") >= 10


def test_a_wide_terminal_has_two_columns(person):
    one, two = lines(person, 119), lines(person, 120)
    assert len(two) < len(one)
    assert "Totals" in plain(two[0]) or "Log" in plain(two[0])
