import copy
import pickle
import re
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st
from pamqp import decode as pamqp_decode, encode as pamqp_encode

from pybroker.errors import FrameError, ProtocolSyntaxError
from pybroker.wire.table import (
    Array,
    Table,
    decode_table,
    decode_value,
    encode_table,
    encode_value,
    join_table,
    split_table,
)
from pybroker.wire.validate import GROWN
from tests import strategies


def plain(value):
    """Return a value as pamqp would give it: no types."""
    match value:
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case bytearray():
            return bytes(value)
    return value


def test_a_table_to_the_octet():
    octets = bytes.fromhex(
        "0000003a"
        "0c 782d6d61782d6c656e677468 6c 0000000000000005"  # x-max-length: long 5
        "01 61 41 0000000b 49 00000001 53 00000001 78"  # a: [int 1, "x"]
        "01 66 46 00000004 01 6b 74 01"  # f: {k: true}
    )
    octets = (len(octets) - 4).to_bytes(4) + octets[4:]
    table, end = decode_table(octets)
    assert {"x-max-length": 5, "a": [1, "x"], "f": {"k": True}} == table
    assert {"x-max-length": "l", "a": "A", "f": "F"} == table.types
    assert "IS" == table["a"].types
    assert {"k": "t"} == table["f"].types
    assert len(octets) == end
    assert octets == encode_table(table)


@strategies.few
@given(strategies.tables, st.binary(max_size=9), st.binary(max_size=9))
def test_tables_come_back_with_their_types_wherever_they_stand(table, before, after):
    octets = encode_table(table)
    assert (table, len(before) + len(octets)) == decode_table(before + octets + after, len(before))
    assert octets == encode_table(decode_table(octets)[0])


@strategies.few
@given(strategies.tables)
def test_splitting_and_joining_gives_back_the_octets(table):
    octets = encode_table(table)
    pairs = split_table(octets)
    assert octets == join_table(pairs)
    assert [key.encode() for key in table] == [key for key, _ in pairs]
    assert list(table.values()) == [decode_value(value) for _, value in pairs]
    assert [value for _, value in pairs] == [encode_value(table[key], table.types[key]) for key in table]


def is_read_alike(typed: tuple[str, object]) -> bool:
    """Tell whether pamqp reads this value as we do: it takes late timestamps for milliseconds."""
    letter, value = typed
    return letter != "T" or (isinstance(value, datetime) and value.timestamp() <= 0xFFFFFFFF)


alike = st.recursive(strategies.scalars.filter(is_read_alike), strategies.nested, max_leaves=12)


@strategies.few
@given(st.dictionaries(strategies.keys, alike, max_size=6).map(strategies.as_table))
def test_pamqp_reads_our_tables(table):
    octets = encode_table(table)
    consumed, value = pamqp_decode.field_table(octets)
    assert (len(octets), plain(table)) == (consumed, plain(value))


pamqp_values = st.recursive(
    st.none()
    | st.booleans()
    | strategies.integers(64, signed=True)
    | st.floats(width=32, allow_nan=False)
    | st.text(strategies.characters, max_size=30)
    | st.binary(max_size=20).map(bytearray)
    | strategies.integers(31, signed=False).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
    | strategies.decimals,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strategies.keys, inner, max_size=4),
    max_leaves=10,
)


@strategies.few
@given(st.dictionaries(strategies.keys, pamqp_values, max_size=6))
def test_we_read_pamqps_tables(values):
    table, _ = decode_table(pamqp_encode.field_table(values))
    assert plain(values) == table


def test_of_equal_keys_the_first_counts():
    octets = join_table([(b"k", b"t\x01"), (b"k", b"t\x00")])
    assert ({"k": True}, {"k": "t"}) == (decode_table(octets)[0], decode_table(octets)[0].types)


def test_a_table_beyond_the_limits_is_refused_before_a_value_is_made():
    octets = b""
    for _ in range(33):
        octets = join_table([(b"k", b"F" + (octets or bytes(4)))])
    with pytest.raises(FrameError):
        decode_table(octets)
    assert decode_table(octets, 0, GROWN)[1] == len(octets)


@pytest.mark.parametrize("octets", [b"", b"\x00\x00\x00", b"\x00\x00\x00\x05\x01kV", b"\x00\x00\x00\x03\x05kV"])
def test_a_broken_table_is_no_table(octets):
    with pytest.raises(ProtocolSyntaxError):
        decode_table(octets)
    with pytest.raises(ProtocolSyntaxError):
        split_table(octets)


@given(st.binary(max_size=40))
def test_splitting_raises_nothing_but_502(octets):
    with suppress(ProtocolSyntaxError):
        split_table(octets)


class TestEquality:
    def test_types_count_between_tables(self):
        assert Table({"a": 1}, {"a": "I"}) != Table({"a": 1}, {"a": "l"})
        assert Table({"a": 1}) == Table({"a": 1}, {"a": "I"})
        assert Table({"a": True}) != Table({"a": 1})
        assert Table({"a": Table({"b": 1}, {"b": "s"})}) != Table({"a": Table({"b": 1})})
        assert Table({"a": Array([1], "s")}) != Table({"a": Array([1], "b")})
        assert Array([1], "s") != Array([1])

    def test_the_order_of_keys_does_not_count(self):
        assert Table({"a": 1, "b": 2}) == Table({"b": 2, "a": 1})

    def test_against_plain_mappings_only_values_count(self):
        assert Table({"a": 1}, {"a": "l"}) == {"a": 1}
        assert Table({"a": 1}) != {"a": 2}
        assert Array([1], "l") == [1]

    def test_tables_are_not_hashable(self):
        with pytest.raises(TypeError):
            hash(Table())
        with pytest.raises(TypeError):
            hash(Array())


class TestTypes:
    def test_the_type_of_a_replaced_value_is_its_own(self):
        table = Table({"a": 1}, {"a": "b"})
        table["a"] = 300
        assert "I" == table.type_of("a")
        table["a"] = "x"
        assert "S" == table.type_of("a")
        assert {"a": "x"} == decode_table(encode_table(table))[0]

    def test_elements_of_a_grown_array_have_their_usual_types(self):
        array = Array([1], "b")
        assert ["b"] == array.letters()
        array.append(2)
        assert ["I", "I"] == array.letters()

    def test_copies_keep_types(self):
        table = Table({"a": 1, "b": Array([1], "b")}, {"a": "b", "b": "A"})
        copies = (table.copy(), Table(table), copy.copy(table), copy.deepcopy(table), pickle.loads(pickle.dumps(table)))
        for other in copies:
            assert table == other
            assert encode_table(table) == encode_table(other)
        other = table.copy()
        other.types["a"] = "l"
        assert "b" == table.type_of("a")
        assert Array(table["b"]) == table["b"]

    def test_the_repr_tells_types(self):
        assert "Table('a': l 1)" == repr(Table({"a": 1}, {"a": "l"}))

    def test_plain_values_take_rabbitmqs_usual_types(self):
        values = {"a": 1, "b": 1 << 40, "c": True, "d": [1.5, None], "e": {"f": "g"}, "h": b"i", "j": Decimal("1.5")}
        table, _ = decode_table(encode_table(values))
        assert {"a": "I", "b": "l", "c": "t", "d": "A", "e": "F", "h": "x", "j": "D"} == table.types
        assert "dV" == table["d"].types


class TestWhatCannotBeEncoded:
    @pytest.mark.parametrize("value", [1 << 64, object(), Decimal("NaN"), {"k" * 256: 1}, {1, 2}, "\ud800"])
    def test_is_a_value_error(self, value):
        with pytest.raises(ValueError, match=r".+"):
            encode_table({"k": value})

    @pytest.mark.parametrize(
        ("table", "text"),
        [
            ({"a": 1, "b": {"c": date(2026, 1, 2)}}, "field 'b': no AMQP type holds datetime.date(2026, 1, 2)"),
            ({"k" * 256: 1}, f"field '{'k' * 40}...': its name has 256 octets, 255 are allowed"),
            ({"l": [Decimal("1e99")]}, "field 'l': a decimal has 32 bits and at most 255 places, Decimal('1E+99')"),
            (
                {"t": datetime(1969, 12, 31, tzinfo=UTC)},
                "field 't': timestamps begin in 1970, this one is 86400",
            ),
        ],
    )
    def test_the_field_and_the_limit_are_told(self, table, text):
        with pytest.raises(ValueError, match=re.escape(text)):
            encode_table(table)

    def test_nesting_without_end_is_a_value_error(self):
        endless: dict[str, object] = {}
        endless["k"] = endless
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            encode_table(endless)
        items: list[object] = []
        items.append(items)
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            encode_table({"k": items})


@pytest.mark.parametrize("other", ["", "x", 0, None, [], {}, (), b""])
def test_what_is_of_another_kind_is_not_equal(other):
    assert (Table() == other) == (other == {})
    assert (Array() == other) == (other == [])
    assert Table({"a": 1}) != other
    assert Array(["a"]) != other
