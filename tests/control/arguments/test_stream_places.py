import pytest

from pybroker.control.arguments.stream_places import NAMES, parse_place
from pybroker.control.spec import BadArguments
from pybroker.offset_spec import OffsetSpec


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("first", OffsetSpec("first")),
        ("next", OffsetSpec("next")),
        ("0", OffsetSpec(offset=0)),
        ("-17", OffsetSpec(offset=-17)),
        ("9223372036854775807", OffsetSpec(offset=(1 << 63) - 1)),
        ("1h30m", OffsetSpec(age_ms=5_400_000)),
        ("7d", OffsetSpec(age_ms=604_800_000)),
        ("1970-01-02", OffsetSpec(timestamp_ms=86_400_000)),
        ("1970-01-01T01:00+01:00", OffsetSpec(timestamp_ms=0)),
        ("1970-01-01T00:00:01.500Z", OffsetSpec(timestamp_ms=1_500)),
    ],
)
def test_a_place_is_an_offset_a_name_or_a_time(text, place):
    assert parse_place(text, "--from", NAMES) == place


@pytest.mark.parametrize(
    "text", ["", "-", "x", "First", "1x", "9223372036854775808", "2026-13-01", "99999999999d", "٣"]
)
def test_anything_else_is_refused_and_the_option_named(text):
    expected = "Bad argument: --from: expected first, last, next, -N, OFFSET, a time such as 2026-05-01T12:00"
    with pytest.raises(BadArguments, match=expected):
        parse_place(text, "--from", NAMES)


@pytest.mark.parametrize("text", ["first", "-1"])
def test_without_names_there_is_no_begin_and_no_end_to_count_from(text):
    with pytest.raises(BadArguments, match="--before: expected OFFSET"):
        parse_place(text, "--before")
