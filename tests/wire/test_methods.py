import struct

import pytest
from hypothesis import given, strategies as st
from pamqp import commands, frame as pamqp_frame

from pybroker.errors import AmqpError, FrameError, ProtocolSyntaxError
from pybroker.wire.frame import METHOD, split_frame
from pybroker.wire.methods import decode_method, encode_method, make_method
from pybroker.wire.table import Table
from tests import strategies

# Payloads of method frames, checked against RabbitMQ's rabbit_framing_amqp_0_9_1.
VECTORS = [
    (
        make_method(
            commands.Connection.StartOk,
            client_properties=Table({"product": "x"}),
            mechanism="PLAIN",
            response="\0guest\0guest",
            locale="de",
        ),
        "000a 000b 0000000e 07 70726f64756374 53 00000001 78 05504c41494e 0000000c 00 6775657374 00 6775657374 02 6465",
    ),
    (
        make_method(commands.Queue.Declare, queue="q", durable=True, nowait=True, arguments=Table({"k": True})),
        "0032 000a 0000 01 71 12 00000004 01 6b 74 01",
    ),
    (
        make_method(commands.Queue.DeclareOk, queue="q", message_count=3, consumer_count=1 << 31),
        "0032 000b 01 71 00000003 80000000",
    ),
    (
        make_method(commands.Basic.Consume, queue="q", consumer_tag="t", no_local=True, no_ack=True),
        "003c 0014 0000 01 71 01 74 03 00000000",
    ),
    (make_method(commands.Basic.Ack, delivery_tag=5, multiple=True), "003c 0050 0000000000000005 01"),
    (make_method(commands.Basic.Nack, delivery_tag=5, requeue=True), "003c 0078 0000000000000005 02"),
    (
        make_method(commands.Connection.Tune, channel_max=2047, frame_max=131_072, heartbeat=60),
        "000a 001e 07ff 00020000 003c",
    ),
    (make_method(commands.Channel.OpenOk), "0014 000b 00000000"),
    (make_method(commands.Tx.CommitOk), "005a 0015"),
]


def payload_of(octets: bytes) -> bytes:
    found = split_frame(octets, 0, 0)
    assert found is not None
    kind, _, start, end = found
    assert (METHOD, len(octets)) == (kind, end + 1)
    return octets[start:end]


def arguments_of(method) -> dict[str, object]:
    return dict(method)


@pytest.mark.parametrize(("method", "octets"), VECTORS)
def test_methods_to_the_octet(method, octets):
    octets = bytes.fromhex(octets)
    assert b"\x01\x00\x07" + len(octets).to_bytes(4) + octets + b"\xce" == encode_method(7, method)
    decoded = decode_method(octets)
    assert (method.name, arguments_of(method)) == (decoded.name, arguments_of(decoded))


@strategies.few
@given(strategies.methods())
def test_every_method_comes_back(method):
    decoded = decode_method(payload_of(encode_method(7, method)))
    assert type(method) is type(decoded)
    assert arguments_of(method) == arguments_of(decoded)


@pytest.mark.filterwarnings("ignore:This command is deprecated")
@strategies.few
@given(strategies.methods(st.just(Table({"k": "v"}))))
def test_pamqp_reads_every_method(method):
    octets = encode_method(7, method)
    consumed, channel, read = pamqp_frame.unmarshal(octets)
    assert (len(octets), 7, method.name) == (consumed, channel, read.name)
    assert arguments_of(method) == arguments_of(read)


# Arguments that pamqp has no default for.
ZEROES = {"bit": False, "shortstr": "", "longstr": "", "table": {}}


@pytest.mark.filterwarnings("ignore:This command is deprecated")
@pytest.mark.parametrize("kind", sorted(commands.INDEX_MAPPING.values(), key=lambda kind: kind.index))
def test_we_read_every_method_of_pamqp(kind):
    method = kind()
    for name in kind.attributes():
        if getattr(method, name) is None:
            setattr(method, name, ZEROES.get(kind.amqp_type(name), 1))
    decoded = decode_method(payload_of(pamqp_frame.marshal(method, 3)))
    assert arguments_of(method) == arguments_of(decoded)


def test_names_that_pamqp_refuses_can_be_sent_and_read():
    name = "Grüße! " + "x" * 200
    with pytest.raises(ValueError, match="exchange"):
        commands.Basic.Return(312, "NO_ROUTE", name, "k")
    method = make_method(commands.Basic.Return, reply_code=312, reply_text="NO_ROUTE", exchange=name, routing_key="k")
    assert name == decode_method(payload_of(encode_method(1, method))).exchange


def test_a_made_method_is_zero_where_nothing_is_said():
    method = make_method(commands.Queue.Bind, queue="q")
    expected = {"ticket": 0, "queue": "q", "exchange": "", "routing_key": "", "nowait": False, "arguments": {}}
    assert expected == arguments_of(method)
    assert isinstance(method.arguments, Table)
    with pytest.raises(AssertionError):
        make_method(commands.Queue.Bind, no_wait=True)


def test_tables_of_methods_know_their_types():
    octets = bytes.fromhex("0032 000a 0000 01 71 00 0000000c 01 6b 6c 0000000000000005 ff")[:-1]
    octets = octets[:9] + (11).to_bytes(4) + octets[13:]
    arguments = decode_method(octets).arguments
    assert ({"k": 5}, {"k": "l"}) == (arguments, arguments.types)


def test_a_sasl_response_that_is_not_utf8_keeps_its_octets():
    response = b"\x00user\x00p\xe4ss"
    start_ok = make_method(commands.Connection.StartOk, mechanism="PLAIN", locale="en_US")
    start_ok.response = response.decode(errors="surrogateescape")
    decoded = decode_method(payload_of(encode_method(0, start_ok)))
    assert response == decoded.response.encode(errors="surrogateescape")
    start_ok.response = response
    assert encode_method(0, decoded) == encode_method(0, start_ok)


def test_bits_beyond_those_defined_are_ignored():
    assert {"active": True} == arguments_of(decode_method(bytes.fromhex("0014 0014 ff")))
    assert {"active": False} == arguments_of(decode_method(bytes.fromhex("0014 0014 fe")))


def test_a_ticket_that_is_not_zero_is_read():
    """pamqp's constructor refuses it, RabbitMQ ignores it."""
    assert 7 == decode_method(bytes.fromhex("0032 001e 0007 01 71 00")).ticket


def test_delivery_tags_are_unsigned():
    """pamqp reads the upper half as negative."""
    ack = make_method(commands.Basic.Ack, delivery_tag=(1 << 64) - 1)
    assert (1 << 64) - 1 == decode_method(payload_of(encode_method(1, ack))).delivery_tag


def test_thousands_of_nested_tables_before_authentication_are_501():
    """Java CVE-2026-69220 in start-ok."""
    table = bytes(4)
    for _ in range(1_000):
        table = struct.pack(">I", len(table) + 3) + b"\x01kF" + table
    with pytest.raises(FrameError) as caught:
        decode_method(bytes.fromhex("000a 000b") + table + b"\x05PLAIN" + bytes(4) + b"\x05en_US")
    assert ("table nested deeper than 32 levels", (10, 11)) == (caught.value.text, caught.value.method)


@pytest.mark.parametrize(
    ("octets", "error", "text"),
    [
        ("0032", FrameError, "type 1, all octets = <<0,50>>: unknown_frame"),
        ("0032 000a", FrameError, "cannot decode <<>>"),
        ("0032 000a 0000 05 71", FrameError, "cannot decode <<0,0,5,113>>"),
        ("0032 000a 0000 01 ff 00 00000000", FrameError, "Malformed UTF-8 in shortstr"),
        ("0032 000a 0000 01 71 00 00000003 01 6b 71", ProtocolSyntaxError, "unknown type 113 in table"),
        ("003c 0050 0000000000000005 01 00", FrameError, "cannot decode <<0,0,0,0,0,0,0,5,1,0>>"),
        ("0055 000a", FrameError, "cannot decode <<>>"),
    ],
)
def test_what_is_wrong_is_said_as_rabbitmq_says_it(octets, error, text):
    with pytest.raises(AmqpError) as caught:
        decode_method(bytes.fromhex(octets))
    assert (error, text) == (type(caught.value), caught.value.text)


@pytest.mark.parametrize(
    "method",
    [
        make_method(commands.Queue.DeclareOk, queue="x" * 256),
        make_method(commands.Queue.DeclareOk, message_count=-1),
        make_method(commands.Basic.Ack, delivery_tag=1 << 64),
    ],
)
def test_what_does_not_fit_is_our_own_fault(method):
    with pytest.raises(ValueError, match=method.name):
        encode_method(1, method)
