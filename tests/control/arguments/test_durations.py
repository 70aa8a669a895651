import pytest

from pybroker.control.arguments.durations import parse_duration_ms
from pybroker.control.spec import BadArguments
from pybroker.text.duration import UNITS_MS


def test_a_duration_within_the_bounds():
    assert parse_duration_ms("1h30m", 0, 10 * UNITS_MS["d"]) == 5_400_000


@pytest.mark.parametrize("text", ["", "5", "5min", "1h30", "999ms", "25h", "999999999999999w"])
def test_anything_else_is_refused(text):
    with pytest.raises(BadArguments) as refused:
        parse_duration_ms(text, 1_000, UNITS_MS["d"], "--older-than")
    expected = "Bad argument: --older-than: expected a duration from 1s to 1d, such as 90s or 1h30m"
    assert (refused.value.text, refused.value.exit_code) == (expected, 65)


def test_the_option_may_be_known_from_elsewhere():
    with pytest.raises(BadArguments, match=r"^expected a duration from 1s to 1d"):
        parse_duration_ms("25h", 1_000, UNITS_MS["d"])
