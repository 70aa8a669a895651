from datetime import UTC, datetime

from pybroker.wire.erlang_table import printed_entries
from pybroker.wire.table import Array, Table


def test_every_type_has_rabbitmqs_name():
    table = Table(
        {
            "s": "text",
            "i": 5,
            "l": 5,
            "y": True,
            "v": None,
            "x": b"\0",
            "t": datetime.fromtimestamp(7, UTC),
            "f": Table({"a": "b"}),
            "a": Array([1, "one"], "lS"),
        },
        {"i": "I", "l": "l"},
    )
    assert [
        '{<<"s">>,longstr,<<"text">>}',
        '{<<"i">>,signedint,5}',
        '{<<"l">>,long,5}',
        '{<<"y">>,bool,true}',
        '{<<"v">>,void,undefined}',
        '{<<"x">>,binary,<<0>>}',
        '{<<"t">>,timestamp,7}',
        '{<<"f">>,table,[{<<"a">>,longstr,<<"b">>}]}',
        '{<<"a">>,array,[{long,1},{longstr,<<"one">>}]}',
    ] == printed_entries(table)


def test_names_that_are_no_latin_are_numbers():
    assert ["{<<207,128>>,longstr,<<226,130,172>>}"] == printed_entries(Table({"π": "€"}))
