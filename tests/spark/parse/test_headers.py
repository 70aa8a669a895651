from datetime import UTC, datetime
from decimal import Decimal

from pybroker.client import Properties, Table
from pybroker.spark.parse.headers import as_text, header_maps, header_variants
from pybroker.spark.parse.variant import encode_variant
from pybroker.wire.properties import encode_properties

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TABLE = Table({"s": "text", "n": -3, "t": True, "v": None, "T": MOMENT, "x": b"\xff\0", "F": {"a": [1, "b", False]}})


def test_a_map_has_texts():
    octets = encode_properties(Properties(headers=TABLE, message_id="1"))
    (pairs,) = header_maps([octets])
    assert pairs == [
        *(("s", "text"), ("n", "-3"), ("t", "true"), ("v", None), ("T", "2026-01-02T03:04:05+00:00"), ("x", "/wA=")),
        ("F", '{"a":[1,"b",false]}'),
    ]


def test_a_variant_keeps_types():
    octets = encode_properties(Properties(headers=TABLE))
    value, metadata = encode_variant(TABLE)
    assert header_variants([octets, b"\0\0"]) == [{"value": value, "metadata": metadata}, None]


def test_no_headers_and_broken_ones_are_none():
    assert header_maps([b"\0\0", b"\x20\0\0\0\0\x05abc", b"\x20\0\0\0\0\x05\x02kkS\xff"]) == [None, None, None]


def test_numbers_that_json_does_not_have_are_texts_in_lists():
    """As Spark writes them, and reads them by from_json."""
    value = [float("nan"), {"a": [float("inf")], "b": -float("inf")}, 1.5, MOMENT]
    text = as_text(value)
    assert text == '["NaN",{"a":["Infinity"],"b":"-Infinity"},1.5,"2026-01-02T03:04:05+00:00"]'


def test_numbers_of_all_kinds_are_text():
    assert [as_text(value) for value in (1, 1.5, Decimal("0.10"), [MOMENT])] == [
        "1",
        "1.5",
        "0.10",
        '["2026-01-02T03:04:05+00:00"]',
    ]
