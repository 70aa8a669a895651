"""OffsetSpec: one of its fields is set."""

from pybroker.offset_spec import OffsetSpec


def test_unset_fields_are_told_from_zero():
    assert OffsetSpec("first") == ("first", None, None, None)
    assert OffsetSpec(offset=0) != OffsetSpec()
