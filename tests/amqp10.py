"""Single messages of AMQP 1.0 as contents, and back."""

from pybroker.content_view import body, parts, property_octets
from pybroker.wire.amqp10.front import Front
from pybroker.wire.amqp10.to_content import contents_of
from pybroker.wire.amqp10.to_message import entries_of_contents


def content_of(message: bytes) -> bytes:
    """Return header frame and body frame of a message."""
    return contents_of([message])[0][1]


def message_of(content: bytes, exchange: str, routing_key: str) -> bytes:
    """Return a content as a message that says where it was published."""
    (entry,) = entries_of_contents(parts([content]), exchange, routing_key)
    assert int.from_bytes(entry[:4]) == len(entry) - 4
    return entry[4:]


def parts_of(message: bytes) -> tuple[Front, bytes]:
    """Return what a message's front says, and its body."""
    origin, content, size = contents_of([message])[0]
    assert len(body(content)) == size
    return Front(property_octets(content), origin), body(content)
