import pytest

from pybrokerctl.terminal import spinner
from pybrokerctl.terminal.spinner import Spinner


@pytest.fixture
def shown(person, capfd):
    person.setattr(spinner, "SILENT_S", 0)
    return lambda: capfd.readouterr().err


def test_nothing_is_shown_of_what_is_quick(shown, monkeypatch):
    monkeypatch.setattr(spinner, "SILENT_S", 60)
    waiting = Spinner("Purging queue 'q' ...")
    waiting.wait()
    waiting.stop()
    assert shown() == ""


def test_what_takes_long_says_what_it_is(shown):
    waiting = Spinner("Timeout: 60.0 seconds ...\nPurging queue 'q' ...")
    waiting.wait()
    waiting.stop()
    text = shown()
    assert "Purging queue 'q' ..." in text
    assert "Timeout" not in text
    assert "?" not in text.replace("\x1b[?25", "")


def test_counted_work_says_how_far_it_is(shown):
    waiting = Spinner("Closing")
    waiting.count(3, 10)
    waiting.count(7, 10)
    waiting.stop()
    waiting.stop()  # again, and nothing happens
    text = shown()
    assert " 3/10" in text
    assert " 7/10" in text


def test_it_is_for_people_whose_terminal_can_take_it_away_again(person):
    assert Spinner.is_wanted()
    person.setenv("TERM", "dumb")
    assert not Spinner.is_wanted()


def test_it_is_not_for_a_pipe():
    assert not Spinner.is_wanted()
