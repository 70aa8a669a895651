"""Offsets as consumers write them."""

from datetime import UTC, datetime

import pytest

from pybroker.core.stream.offset import parse_offset
from pybroker.offset_spec import OffsetSpec


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        ("first", OffsetSpec("first")),
        ("last", OffsetSpec("last")),
        (b"last", OffsetSpec("last")),
        ("next", OffsetSpec("next")),
        (17, OffsetSpec(offset=17)),
        (-3, OffsetSpec(offset=-3)),
        (datetime(2026, 1, 1, tzinfo=UTC), OffsetSpec(timestamp_ms=1_767_225_600_000)),
        ("7D", OffsetSpec(age_ms=604_800_000)),
        ("90s", OffsetSpec(age_ms=90_000)),
    ],
)
def test_offsets(value, spec):
    assert parse_offset({"x-stream-offset": value}) == spec


@pytest.mark.parametrize("value", [True, 1.5, None, [], "", "First", "1", "h", "1w", "-1h", "1h30m"])
def test_others_are_none(value):
    assert parse_offset({"x-stream-offset": value}) is None


def test_without_one_a_consumer_gets_what_comes():
    assert parse_offset({}) == OffsetSpec("next")
