import pytest

from pybroker.core.policy.age import age_ms_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1Y", 365 * 86_400),
        ("2M", 60 * 86_400),
        ("7D", 7 * 86_400),
        ("12h", 43_200),
        ("90m", 5_400),
        ("007s", 7),
        ("0" * 9_999 + "5s", 5),
        ("9" * 18 + "s", int("9" * 18)),
    ],
)
def test_an_age_is_a_number_and_a_unit(text, seconds):
    assert age_ms_of(text) == 1_000 * seconds


@pytest.mark.parametrize(
    "text", ["", "h", "1", "0h", "-1h", "1.5h", "1h30m", "1x", " 1h", "1h\n", "\u0663h", "9" * 19 + "s"]
)
def test_anything_else_is_none(text):
    assert age_ms_of(text) is None
