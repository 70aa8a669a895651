"""Class access (30): AMQP 0-8's, which RabbitMQ still answers and pamqp does not know, so it is read here."""

from typing import TYPE_CHECKING, Final

from pybroker.errors import ProtocolSyntaxError
from pybroker.wire import frame

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel

REQUEST: Final = b"\x00\x1e\x00\x0a"
# access.request-ok with ticket 1.
_REQUEST_OK: Final = b"\x00\x1e\x00\x0b\x00\x01"


def access_request(channel: "AmqpChannel", payload: bytes) -> None:
    """Grant ticket 1 to everybody, as RabbitMQ: permissions are checked where things are used [access.request].

    `payload` is the method frame's: realm as a shortstr, one octet of bits. Raises ProtocolSyntaxError (502).
    """
    if len(payload) < 6 or len(payload) != 6 + payload[4]:
        raise ProtocolSyntaxError("access.request is malformed", (30, 10))
    channel.send_octets(frame.frame(frame.METHOD, channel.number, _REQUEST_OK))
