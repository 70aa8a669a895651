import pytest

from pybroker.control.commands.monitoring.memory_breakdown import Args
from pybrokerctl.views import memory_breakdown

DOCUMENT = {
    "code": {"bytes": 31_311_774, "percentage": 60.5},
    "reusable": {"bytes": 20_000_000, "percentage": 39.5},
    "other": {"bytes": 0, "percentage": 0.0},
}


@pytest.mark.parametrize(
    ("unit", "size"), [("gb", "0.0313 gb"), ("mb", "31.3118 mb"), ("bytes", "31311774 bytes"), ("mib", "29.8612 mib")]
)
def test_a_line_for_each_category_in_the_unit_wanted(unit, size):
    lines = "".join(memory_breakdown.view(DOCUMENT, Args(unit))).splitlines()
    assert lines[0] == f"code: {size} (60.5%)"
    assert lines[2].endswith("(0.0%)")


def test_what_they_add_up_to_is_told_and_what_the_limit_is_compared_with():
    text = "".join(memory_breakdown.view(DOCUMENT, Args("mb")))
    expected = (
        "\nResident set: 51.3118 mb\nCompared with the memory limit (resident set without reusable "
        "memory): 31.3118 mb\n"
    )
    assert text.endswith(expected)
