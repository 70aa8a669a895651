from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from pybroker.spark.parse.variant import encode_variant

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=90),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def decoded(value):
    """Return what Spark makes of it."""
    types = pytest.importorskip("pyspark.sql.types", reason="no pyspark here: pip install 'pybroker[spark]'")
    return types.VariantVal(*encode_variant(value)).toPython()


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_spark_reads_what_was_encoded(value):
    found = decoded(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        b"\0\xff",
        Decimal("12.345"),
        Decimal(-7),
        Decimal("1234567890123456789.12"),
        datetime(2026, 11, 21, 20, 7, 48, tzinfo=UTC),
        {f"key{n:03}": n for n in range(300)},
        list(range(70_000)),
        {"long": "x" * 70_000, "a": {"b": [1, {"c": None}]}},
        1 << 70,
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_each_keeps_its_type(value):
    assert decoded(value) == value


def test_names_are_in_the_order_by_which_spark_searches_them():
    """Java compares the halves of surrogate pairs, which are below U+E000."""
    assert list(decoded({"\ue000": 1, "\U0001f600": 2, "b": 3, "a": 4})) == ["a", "b", "\U0001f600", "\ue000"]


def test_what_no_variant_holds_is_refused():
    for value in (Decimal("Infinity"), object()):
        with pytest.raises(ValueError, match="no variant holds"):
            encode_variant(value)


@pytest.mark.parametrize(("value", "text"), [(Decimal("1E-39"), "1E-39"), (Decimal("-7E-255"), "-7E-255")])
def test_a_decimal_of_too_many_places_is_a_text(value, text):
    assert decoded({"d": value}) == {"d": text}
