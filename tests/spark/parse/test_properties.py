from pybroker.client import Properties, Table
from pybroker.spark.parse.properties import FIELDS, read_properties, read_timestamps
from pybroker.wire.properties import encode_properties

FULL = Properties(
    content_type="a/b",
    content_encoding="gzip",
    headers=Table({"k": 1}),
    delivery_mode=2,
    priority=200,
    correlation_id="c",
    reply_to="r",
    expiration="60000",
    message_id="m",
    timestamp=1_700_000_000,
    type="t",
    user_id="u",
    app_id="a",
)


def test_all_properties_are_columns():
    columns = read_properties([encode_properties(FULL), b"\0\0"])
    assert tuple(columns) == FIELDS
    expected = {name: getattr(FULL, name) for name in FIELDS} | {"timestamp": 1_700_000_000_000_000}
    assert {name: values[0] for name, values in columns.items()} == expected
    assert {values[1] for values in columns.values()} == {None}
    assert read_properties([]) == {name: [] for name in FIELDS}


def test_what_no_column_holds_is_none():
    odd = Properties(delivery_mode=200, timestamp=1 << 62, app_id="\udcff")
    columns = read_properties([encode_properties(odd)])
    assert (columns["delivery_mode"], columns["timestamp"], columns["app_id"]) == ([None], [None], ["�"])


def test_a_text_that_is_no_utf_8_is_not_longer_than_a_property_may_be():
    odd = Properties(message_id="\udcff" * 100, app_id="\udcff" * 85)
    columns = read_properties([encode_properties(odd)])
    assert (columns["message_id"], columns["app_id"]) == (["?" * 100], ["\ufffd" * 85])


def test_octets_that_make_no_sense_stand_in_nobodys_way():
    assert read_timestamps([b"\0\x40\0\0", b"\x20\0\0\0\x01\0", b"\0\1"]) == [None, None, None]
