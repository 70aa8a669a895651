"""Protocols are named by the first octets of a connection."""

import pytest

from pybroker.first_octets import name_protocol


@pytest.mark.parametrize(
    ("octets", "name"),
    [
        (b"\x16\x03\x01\x02\x00\x01", "a TLS handshake"),
        (b"\x16", "a TLS handshake"),
        (b"\x15\x03\x01\x00\x02\x02\x50", "a TLS alert"),
        (b"AMQP\x00\x00\x09\x01", "plain AMQP"),
        (b"AMQ", "plain AMQP"),
        (b"AMQP\x01\x01\x00\x09", "another version of AMQP"),
        (b"AMQP\x00\x01\x00\x00", "AMQP 1.0"),
        (b"GET / HTTP/1.1\r\n", "plain HTTP"),
        (b"PROXY TCP4 ", "a PROXY header"),
        (b"\x00\x00\x00\x79\x00\x11\x00\x01\x00", "the stream protocol"),
        (b"\x00\x00\x00\x79\x00\x11", "the octets 00 00 00 79 00 11"),
        (b"\x80\x2e\x01\x00\x02\xff\xff\xff\xff", "the octets 80 2e 01 00 02 ff ff ff"),
    ],
)
def test_the_first_octets_tell_the_protocol(octets, name):
    assert name_protocol(octets) == name
