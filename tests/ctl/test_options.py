import pytest

from pybroker.control.spec import BadArguments
from pybrokerctl.options import Options


def test_without_any_a_pipe_gets_a_table_with_banner_and_header():
    options = Options.read({})
    assert (options.formatter, options.headers, options.talks, options.timeout_s) == ("table", True, True, None)


def test_a_terminal_gets_what_is_drawn_unless_it_is_told_what(person):
    assert Options.read({}).formatter == "terminal"
    assert Options.read({"formatter": "table"}).formatter == "table"
    assert Options.read({"silent": True}).formatter == "table"


def test_what_is_drawn_cannot_be_asked_for_by_name():
    with pytest.raises(BadArguments):
        Options.read({"formatter": "terminal"})


@pytest.mark.parametrize("formatter", ["json", "csv"])
def test_programs_are_not_talked_to(formatter):
    assert not Options.read({"formatter": formatter}).talks


@pytest.mark.parametrize("word", ["0", "-1", "abc", "nan", "1e99"])
def test_a_time_that_cannot_be_is_refused(word):
    with pytest.raises(BadArguments):
        Options.read({"timeout": word})


@pytest.mark.parametrize("word", ["0", "-1", "abc", "nan", "301", "inf"])
def test_an_interval_that_cannot_be_is_refused(word):
    with pytest.raises(BadArguments, match=r"--watch must be a number of seconds from 0\.1 to 300"):
        Options.read({"watch": word})


def test_times_are_read():
    assert Options.read({"timeout": "infinity"}).timeout_s == 0
    assert Options.read({"timeout": "1.5", "watch": "5"})[2] == 1.5
    assert Options.read({"watch": "5"}).watch_s == 5
