"""Conditions on the rows of a report."""

import pytest

from pybroker.text.row_condition import condition, split

COLUMNS = ("held_ms", "verdict", "ongoing", "share")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("any", True),
        ("held_ms>499", True),
        ("held_ms > 500", False),
        ("held_ms>=500", True),
        ("held_ms<500", False),
        ("held_ms<=500", True),
        ("held_ms!=500.0", False),
        ("verdict==no consumer", True),
        ("verdict==full", False),
        ("ongoing==true", True),
        ("ongoing==1", False),
        ("share<1", False),
        ("share!=1", False),
    ],
)
def test_conditions(text, expected):
    assert condition(text, COLUMNS)([500, "no consumer", True, None]) is expected


def test_one_that_makes_no_sense_is_a_sentence():
    with pytest.raises(ValueError, match="must be a column, a comparison and a value, or any; not 'held_ms'"):
        split("held_ms")
    with pytest.raises(ValueError, match="there is no column x: held_ms, verdict"):
        condition("x>1", COLUMNS)
