"""Publishes as octets and deliveries from frames; pamqp is the oracle."""

import pytest
from hypothesis import given, strategies as st
from pamqp import commands, frame as oracle

from pybroker.client.channel import content
from pybroker.client.channel.content import ContentAssembler, Encoder, decode_deliver, decode_settle, encode_ack
from pybroker.errors import FrameError, ProtocolSyntaxError, UnexpectedFrame
from pybroker.wire.methods import encode_method, make_method
from tests.strategies import few, texts


def split(octets):
    """Return (channel, method, header or body) of each frame, by pamqp."""
    frames = []
    while octets:
        size, channel, frame = oracle.unmarshal(octets)
        octets = octets[size:]
        frames.append((channel, frame))
    return frames


@given(st.binary(max_size=300), st.booleans())
@few
def test_g13_a_publish_is_a_method_a_header_and_as_many_bodies_as_it_needs(body, mandatory):
    octets = Encoder(3, 108).encode("e", "k", content.NO_PROPERTIES, body, mandatory=mandatory, immediate=False)
    (number, method), (_, header), *bodies = split(octets)
    assert (number, method.exchange, method.routing_key, method.mandatory) == (3, "e", "k", mandatory)
    assert header.body_size == len(body)
    assert b"".join(frame.value for _, frame in bodies) == body
    assert len(bodies) == -(-len(body) // 100)


def test_properties_are_no_larger_than_a_frame():
    """AMQP sends a header in one frame (§4.2.6)."""
    encoder = Encoder(3, 108)
    assert len(encoder.encode("e", "k", bytes(88), b"", mandatory=False, immediate=False)) > 108
    text = r"the properties with their headers have 89 octets, 88 fit into a frame of this connection \(frame_max\)"
    with pytest.raises(ValueError, match=text):
        encoder.encode("e", "k", bytes(89), b"", mandatory=False, immediate=False)


def test_routes_remembered_are_bounded():
    encoder = Encoder(1, 4_096)
    for i in range(content.ROUTES_MAX + 10):
        encoder.encode("", str(i), content.NO_PROPERTIES, b"", mandatory=False, immediate=False)
    assert len(encoder._routes) == content.ROUTES_MAX


def test_a_name_that_is_too_long_is_a_value_error():
    with pytest.raises(ValueError, match="256 octets"):
        Encoder(1, 4_096).encode("", "k" * 256, content.NO_PROPERTIES, b"", mandatory=False, immediate=False)


@given(texts(12), st.integers(0, (1 << 64) - 1), st.booleans(), texts(12), texts(12))
@few
def test_a_deliver_is_read_as_the_codec_writes_it(tag, number, redelivered, exchange, key):
    method = make_method(
        commands.Basic.Deliver,
        consumer_tag=tag,
        delivery_tag=number,
        redelivered=redelivered,
        exchange=exchange,
        routing_key=key,
    )
    payload = encode_method(1, method)[7:-1]
    assert decode_deliver(payload) == (tag, number, redelivered, exchange, key)
    for end in (5, len(payload) // 2, len(payload) - 1):
        with pytest.raises(ProtocolSyntaxError):
            decode_deliver(payload[:end] if end < len(payload) else payload + b"x")


@given(st.integers(0, (1 << 64) - 1), st.booleans())
@few
def test_an_ack_is_written_and_read_as_the_codec_does(tag, multiple):
    octets = encode_method(7, make_method(commands.Basic.Ack, delivery_tag=tag, multiple=multiple))
    assert encode_ack(7, tag, multiple) == octets
    assert decode_settle(octets[7:-1]) == (tag, multiple)


def header(size, class_id=60, props=b"\0\0"):
    return class_id.to_bytes(2) + b"\0\0" + size.to_bytes(8) + props


def test_a_content_is_whole_with_its_last_body():
    assembly = ContentAssembler(1_000)
    assembly.begin("method")
    assert assembly.header(header(3)) is None
    assert assembly.body(b"ab") is None
    assert assembly.body(b"c") == ("method", b"\0\0", b"abc")
    assembly.begin("next")
    assert assembly.header(header(0)) == ("next", b"\0\0", b"")


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        (lambda a: a.header(header(1)), UnexpectedFrame),
        (lambda a: a.body(b"x"), UnexpectedFrame),
        (lambda a: (a.begin(1), a.begin(2)), UnexpectedFrame),
        (lambda a: (a.begin(1), a.expect_method()), UnexpectedFrame),
        (lambda a: (a.begin(1), a.header(header(1)), a.header(header(1))), UnexpectedFrame),
        (lambda a: (a.begin(1), a.header(header(1)), a.body(b"xy")), UnexpectedFrame),
        (lambda a: (a.begin(1), a.header(header(1_001))), FrameError),
        (lambda a: (a.begin(1), a.header(header(1, class_id=50))), FrameError),
        (lambda a: (a.begin(1), a.header(header(1, props=b"")), a.body(b"x")), ProtocolSyntaxError),
    ],
)
def test_frames_in_a_wrong_order_are_errors(steps, error):
    with pytest.raises(error):
        steps(ContentAssembler(1_000))
