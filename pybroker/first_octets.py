"""The names of protocols by a connection's first octets, for the log: a client that came to the wrong port, mostly."""

from typing import Final

# A handshake's record and an alert's begin with their type and the version's upper half.
_BEGINNINGS: Final = (
    (b"\x16\x03", "a TLS handshake"),
    (b"\x15\x03", "a TLS alert"),
    (b"AMQP\x00\x00\x09\x01", "plain AMQP"),
    (b"AMQP\x00\x01\x00\x00", "AMQP 1.0"),
    (b"AMQP\x03\x01\x00\x00", "AMQP 1.0"),
    (b"AMQP", "another version of AMQP"),
    (b"PROXY ", "a PROXY header"),
    (b"\r\n\r\n\x00\r\nQUIT\n", "a PROXY header"),
    *((method, "plain HTTP") for method in (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE")),
    (b"\x10", "MQTT"),
    (b"CONN", "STOMP"),
)
STREAM: Final = "the stream protocol"
# The first frame of the stream protocol, PeerProperties, behind its size.
_STREAM_KEY: Final = b"\x00\x11\x00\x01"
_STREAM_SIZE_OCTETS: Final = 4
SHOWN_OCTETS: Final = 8


def name_protocol(octets: bytes) -> str:
    """Return what a connection seems to speak, or its first octets in hexadecimal; `octets` may be the first few."""
    for beginning, name in _BEGINNINGS:
        if octets.startswith(beginning[: len(octets)]):
            return name
    if octets[_STREAM_SIZE_OCTETS:].startswith(_STREAM_KEY):
        return STREAM
    return f"the octets {octets[:SHOWN_OCTETS].hex(' ')}"
