from contextlib import suppress

import pytest
from hypothesis import given, strategies as st
from pamqp import commands

from pybroker.errors import AmqpError, FrameError, PreconditionFailed, ProtocolSyntaxError
from pybroker.run import (
    PLAIN_ATTRIBUTES,
    WANTS_CC,
    WANTS_DELAY,
    WANTS_FILTER,
    WANTS_REPLY_TO,
    WANTS_USER_ID,
    RunAttributes,
)
from pybroker.wire.properties import (
    HEADERS,
    PROPERTIES,
    Properties,
    around_headers,
    attributes_of,
    decode_properties,
    encode_properties,
    find_headers,
    find_user_id,
    join_properties,
    replace_headers,
    replace_reply_to,
    split_properties,
)
from pybroker.wire.table import Array, Table, encode_table
from pybroker.wire.validate import GROWN
from tests import strategies

EVERYTHING = Properties(
    content_type="text/plain",
    content_encoding="utf-8",
    headers=Table({"a": 1}),
    delivery_mode=2,
    priority=5,
    correlation_id="c",
    reply_to="r",
    expiration="60000",
    message_id="m",
    timestamp=1_000_000_000,
    type="t",
    user_id="guest",
    app_id="app",
    cluster_id="cl",
)
EVERYTHING_OCTETS = bytes.fromhex(
    "fffc 0a 746578742f706c61696e 05 7574662d38 00000007 01 61 49 00000001 02 05 01 63 01 72 05 3630303030 01 6d"
    "000000003b9aca00 01 74 05 6775657374 03 617070 02 636c"
)


def attributes(**values) -> RunAttributes:
    return attributes_of(encode_properties(Properties(**values)))


def refused(props: bytes) -> AmqpError:
    with pytest.raises(AmqpError) as caught:
        attributes_of(props)
    return caught.value


def test_all_properties_to_the_octet():
    assert EVERYTHING_OCTETS == encode_properties(EVERYTHING)
    assert EVERYTHING == decode_properties(EVERYTHING_OCTETS)
    assert RunAttributes(persistent=True, priority=5, ttl_ms=60_000, wants=WANTS_USER_ID) == attributes_of(
        EVERYTHING_OCTETS
    )


def test_no_properties_are_two_octets():
    assert b"\x00\x00" == encode_properties(Properties())
    assert Properties() == decode_properties(b"\x00\x00")
    assert PLAIN_ATTRIBUTES is attributes_of(b"\x00\x00")


@strategies.few
@given(strategies.properties)
def test_properties_come_back(properties):
    octets = encode_properties(properties)
    assert properties == decode_properties(octets)
    assert octets == encode_properties(decode_properties(octets))


@strategies.few
@given(strategies.properties)
def test_attributes_are_what_the_properties_say(properties):
    found = attributes_of(encode_properties(properties))
    ttl_ms = None if properties.expiration is None else int(properties.expiration)
    assert (properties.delivery_mode == 2, properties.priority or 0, ttl_ms) == (
        found.persistent,
        found.priority,
        found.ttl_ms,
    )
    wants = 0
    wants |= WANTS_USER_ID if properties.user_id is not None else 0
    wants |= WANTS_REPLY_TO if properties.reply_to == "amq.rabbitmq.reply-to" else 0
    assert wants == found.wants & ~(WANTS_CC | WANTS_DELAY | WANTS_FILTER)


@strategies.few
@given(strategies.properties.filter(lambda p: p.headers is None and (p.timestamp or 0) < 1 << 32))
def test_pamqp_reads_our_properties(properties):
    octets = encode_properties(properties)
    read = commands.Basic.Properties()
    read.unmarshal(int.from_bytes(octets[:2]), octets[2:])
    for name in PROPERTIES:
        if name not in ("timestamp", "type", "cluster_id"):
            assert getattr(properties, name) == getattr(read, name)
    assert properties.type == read.message_type
    assert properties.timestamp == (None if read.timestamp is None else int(read.timestamp.timestamp()))


def test_we_read_pamqps_properties():
    properties = commands.Basic.Properties(content_type="x", headers={"a": 1}, delivery_mode=2, user_id="u", app_id="a")
    expected = Properties(
        content_type="x", headers=Table({"a": 1}, {"a": "b"}), delivery_mode=2, user_id="u", app_id="a"
    )
    assert expected == decode_properties(properties.marshal())


class TestAttributes:
    def test_equal_attributes_are_one_object(self):
        assert attributes(delivery_mode=2, message_id="a") is attributes(delivery_mode=2, message_id="b")
        assert attributes(delivery_mode=1) is attributes(app_id="x") is PLAIN_ATTRIBUTES
        assert attributes(priority=3, expiration="5") is attributes(priority=3, expiration="5", timestamp=1)

    @pytest.mark.parametrize("mode", [None, 1, 2])
    def test_each_property_counts_by_itself(self, mode):
        persistent = mode == 2
        assert RunAttributes(persistent=persistent) == attributes(delivery_mode=mode)
        assert RunAttributes(persistent=persistent, priority=9) == attributes(delivery_mode=mode, priority=9)
        assert RunAttributes(persistent=persistent, ttl_ms=0) == attributes(delivery_mode=mode, expiration="0")
        assert RunAttributes(persistent=persistent, wants=WANTS_USER_ID) == attributes(
            delivery_mode=mode, user_id="guest"
        )

    @pytest.mark.parametrize("mode", [0, 3, 255])
    def test_an_unknown_delivery_mode_is_406_in_rabbitmqs_words(self, mode):
        fault = refused(encode_properties(Properties(delivery_mode=mode)))
        assert (PreconditionFailed, f"invalid message: {{delivery_mode_unknown,{mode}}}") == (type(fault), fault.text)

    def test_a_bad_expiration_is_406_in_rabbitmqs_words(self):
        fault = refused(encode_properties(Properties(expiration="soon")))
        assert (406, "invalid expiration 'soon': no_integer") == (fault.reply_code, fault.text)

    @pytest.mark.parametrize(
        ("headers", "wants"),
        [
            ({}, 0),
            ({"a": 1}, 0),
            ({"CC": ["a"]}, WANTS_CC),
            ({"BCC": []}, WANTS_CC),
            ({"x-delay": 5}, WANTS_DELAY),
            ({"CC": ["a"], "x-delay": 5}, WANTS_CC | WANTS_DELAY),
            ({"x-stream-filter-value": "eu"}, WANTS_FILTER),
            ({"x-stream-filter-value": 5, "CC": ["a"]}, WANTS_CC | WANTS_FILTER),
            ({"a": "x-stream-filter-value", "b": {"x-stream-filter-value": 1}}, 0),
            ({"a": "CC", "b": {"CC": 1, "x-delay": 5}}, 0),
            ({"XCC": 1, "x-delay-type": 1}, 0),
        ],
    )
    def test_headers_are_looked_at_by_their_names(self, headers, wants):
        assert wants == attributes(headers=Table(headers)).wants

    def test_reply_to_counts_only_when_it_is_the_pseudo_queue(self):
        assert WANTS_REPLY_TO == attributes(reply_to="amq.rabbitmq.reply-to").wants
        assert 0 == attributes(reply_to="amq.rabbitmq.reply-to.g1h2.x").wants == attributes(reply_to="q").wants

    @pytest.mark.parametrize(
        ("headers", "kind"),
        [
            (Table({"CC": "a"}), '"CC",longstr'),
            (Table({"BCC": True}), '"BCC",bool'),
            (Table({"CC": 1}, {"CC": "l"}), '"CC",long'),
            (Table({"CC": {}}), '"CC",table'),
        ],
    )
    def test_carbon_copies_that_are_no_array_are_406_in_rabbitmqs_words(self, headers, kind):
        fault = refused(encode_properties(Properties(headers=headers)))
        assert (406, f"invalid message: {{unacceptable_type_in_header,{kind}}}") == (fault.reply_code, fault.text)

    def test_l_in_capitals_is_a_long_to_rabbitmq(self):
        props = b"\x20\x00" + (12).to_bytes(4) + b"\x02CCL" + bytes(8)
        assert 'invalid message: {unacceptable_type_in_header,"CC",long}' == refused(props).text

    def test_a_user_id_names_a_user_so_it_is_utf8(self):
        fault = refused(b"\x00\x10\x01\xff")
        assert (FrameError, "Malformed UTF-8 in shortstr") == (type(fault), fault.text)

    def test_headers_grown_by_the_broker_may_be_longer_than_a_peers(self):
        props = encode_properties(Properties(headers=Table({str(n): None for n in range(2_000)})))
        assert "table of more than 1024 entries" == refused(props).text
        assert 0 == attributes_of(props, GROWN).wants
        assert 2_000 == len(decode_properties(props).headers)


class TestMalformed:
    def test_no_prefix_of_properties_are_properties(self):
        for n in range(len(EVERYTHING_OCTETS)):
            # 406: where the expiration itself is cut short
            assert refused(EVERYTHING_OCTETS[:n]).reply_code in (502, 406)
            with pytest.raises(ProtocolSyntaxError):
                decode_properties(EVERYTHING_OCTETS[:n])

    @pytest.mark.parametrize("read", [attributes_of, decode_properties])
    @pytest.mark.parametrize(
        "props",
        [
            b"",
            b"\x00",
            b"\x00\x00\x00",
            b"\x80\x00",
            b"\x80\x00\x05a",
            b"\x10\x00",
            b"\x00\x40" + bytes(7),
            EVERYTHING_OCTETS + b"\0",
        ],
    )
    def test_what_does_not_end_with_its_octets_is_502(self, read, props):
        with pytest.raises(ProtocolSyntaxError) as caught:
            read(props)
        assert "malformed content header properties" == caught.value.text

    @pytest.mark.parametrize("read", [attributes_of, decode_properties, find_headers])
    @pytest.mark.parametrize("flags", [b"\x00\x01\x00\x00", b"\x00\x02", b"\x10\x01\x02"])
    def test_flags_that_class_basic_has_not_are_502(self, read, flags):
        with pytest.raises(ProtocolSyntaxError) as caught:
            read(flags)
        assert "reserved property flags are set" == caught.value.text

    @pytest.mark.parametrize(
        ("find", "props"),
        [
            (find_headers, b"\x20\x00\x00\x00\x00\x01"),
            (find_headers, b"\x80\x00\x05a"),
            (find_user_id, b"\x00\x10\x02a"),
            (find_user_id, b"\x10\x10"),
        ],
    )
    def test_what_reaches_over_the_properties_is_not_found(self, find, props):
        with pytest.raises(ProtocolSyntaxError):
            find(props)

    def test_a_table_seen_before_excuses_nothing(self):
        table = encode_table({"a": 1, "CC": ["x"]})
        good = b"\x20\x00" + table
        assert attributes_of(good) is attributes_of(good)
        for props in (good + b"\x00", good[:-1], b"\x20\x80" + table, b"\x20\x80" + table + b"\x05a"):
            assert 502 == refused(props).reply_code

    def test_a_table_that_reaches_over_the_properties_is_502(self):
        for props in (b"\x20\x00\x00\x00\x00\x01", b"\x20\x00\x00\x00", b"\x20\x80\x00\x00\x00\x03\x01kV"):
            assert 502 == refused(props).reply_code


class TestOctetsThatAreNotUtf8:
    """RabbitMQ hands them on as they are, so do we (Java CVE-2026-106122: to the octet)."""

    PROPS = bytes.fromhex("8480 02 fffe 01 80 01 ff")

    def test_pass(self):
        assert PLAIN_ATTRIBUTES is attributes_of(self.PROPS)

    def test_come_back_to_the_octet(self):
        assert self.PROPS == encode_properties(decode_properties(self.PROPS))

    def test_in_user_id_are_not(self):
        with pytest.raises(FrameError):
            find_user_id(b"\x00\x10\x01\xff")


class TestEdits:
    """Each changes one property and no octet of another."""

    @strategies.few
    @given(strategies.properties, st.none() | strategies.tables)
    def test_replacing_headers(self, properties, headers):
        octets = replace_headers(encode_properties(properties), None if headers is None else encode_table(headers))
        properties.headers = headers
        assert encode_properties(properties) == octets

    @strategies.few
    @given(strategies.properties, strategies.shortstrs)
    def test_replacing_reply_to(self, properties, reply_to):
        octets = replace_reply_to(encode_properties(properties), reply_to)
        properties.reply_to = reply_to
        assert encode_properties(properties) == octets

    @strategies.few
    @given(strategies.properties)
    def test_finding(self, properties):
        octets = encode_properties(properties)
        headers = None if properties.headers is None else encode_table(properties.headers)
        assert headers == find_headers(octets)
        assert properties.user_id == find_user_id(octets)

    def test_a_reply_to_beyond_255_octets_is_a_value_error(self):
        with pytest.raises(ValueError, match="256"):
            replace_reply_to(b"\x00\x00", "x" * 256)

    @pytest.mark.parametrize("edit", [find_headers, find_user_id, decode_properties])
    @given(props=st.binary(max_size=30))
    def test_broken_properties_raise_nothing_but_amqp_errors(self, edit, props):
        with suppress(ProtocolSyntaxError, FrameError):
            edit(props)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"priority": 256}, "property priority is 256, not 0 to 255"),
        ({"timestamp": -1}, "property timestamp is -1, not 0 to 18446744073709551615"),
        ({"message_id": "x" * 256}, "property message_id has 256 octets, 255 are allowed"),
        ({"headers": {"k": object()}}, "field 'k': no AMQP type holds"),
    ],
)
def test_what_does_not_fit_is_told_with_its_limit(values, text):
    with pytest.raises(ValueError, match=text):
        encode_properties(Properties(**values))


def test_headers_keep_the_types_of_what_was_sent():
    headers = Table({"n": 5, "a": Array([1, 2], "bs")}, {"n": "s", "a": "A"})
    assert headers == decode_properties(encode_properties(Properties(headers=headers))).headers


@strategies.few
@given(strategies.properties)
def test_properties_are_split_and_joined(properties):
    octets = encode_properties(properties)
    values = split_properties(octets)
    assert join_properties(values) == octets
    assert values.get(HEADERS) == find_headers(octets)
    before, table, after = around_headers(octets)
    assert table == values.get(HEADERS, b"")
    assert before + (table or b"\0\0\0\0") + after == replace_headers(octets, table or b"\0\0\0\0")
    assert list(values) == sorted(values, reverse=True)


@pytest.mark.parametrize("octets", [b"", b"\x80", b"\x80\0", b"\x80\0\5abc", b"\0\1", b"\x00\x40" + bytes(7)])
def test_malformed_properties_are_not_split(octets):
    with pytest.raises(ProtocolSyntaxError):
        split_properties(octets)
