"""Messages as an application gets them. Their properties are decoded when they are looked at, not before."""

from typing import TYPE_CHECKING

from pybroker.wire.properties import Properties, decode_properties

if TYPE_CHECKING:
    from pybroker.client.channel.channel import Channel


class Message:
    """A message that was delivered, or got. `delivery_tag` is meant for its channel only.

    A callback gets one and, unless it consumes with `no_ack`, settles it:

        def on_message(message: Message) -> None:
            print(message.body, message.properties.headers)
            message.ack()
    """

    __slots__ = (
        "_properties",
        "body",
        "channel",
        "consumer_tag",
        "delivery_tag",
        "exchange",
        "message_count",
        "property_octets",
        "redelivered",
        "routing_key",
    )

    def __init__(
        self,
        channel: "Channel",
        body: bytes,
        property_octets: bytes,
        exchange: str,
        routing_key: str,
        delivery_tag: int,
        redelivered: bool,
        *,
        consumer_tag: str = "",
        message_count: int = 0,
    ) -> None:
        self.channel = channel
        self.body = body
        self.property_octets = property_octets  # as they came (AMQP §4.2.6.2)
        self.exchange = exchange
        self.routing_key = routing_key
        self.delivery_tag = delivery_tag
        self.redelivered = redelivered
        self.consumer_tag = consumer_tag  # "" for one that was got
        self.message_count = message_count  # what basic.get left in the queue
        self._properties: Properties | None = None

    @property
    def properties(self) -> Properties:
        """The properties; None where absent."""
        if self._properties is None:
            self._properties = decode_properties(self.property_octets)
        return self._properties

    def ack(self, multiple: bool = False) -> None:
        """Acknowledge it, with `multiple` all before it on the channel too [basic.ack]."""
        self.channel.basic_ack(self.delivery_tag, multiple)

    def nack(self, multiple: bool = False, requeue: bool = True) -> None:
        """Refuse it: back into the queue, or away [basic.nack]."""
        self.channel.basic_nack(self.delivery_tag, multiple, requeue)

    def reject(self, requeue: bool = True) -> None:
        """Refuse it: back into the queue, or away [basic.reject]."""
        self.channel.basic_reject(self.delivery_tag, requeue)

    def __repr__(self) -> str:
        where = f"exchange={self.exchange!r} routing_key={self.routing_key!r}"
        return f"<Message {self.delivery_tag} {where} body={len(self.body)} octets>"


class ReturnedMessage:
    """A message that the broker could not deliver as it was told to [basic.return]."""

    __slots__ = ("_properties", "body", "exchange", "property_octets", "reply_code", "reply_text", "routing_key")

    def __init__(
        self, reply_code: int, reply_text: str, exchange: str, routing_key: str, property_octets: bytes, body: bytes
    ) -> None:
        self.reply_code = reply_code
        self.reply_text = reply_text
        self.exchange = exchange
        self.routing_key = routing_key
        self.property_octets = property_octets
        self.body = body
        self._properties: Properties | None = None

    @property
    def properties(self) -> Properties:
        """The properties; None where absent."""
        if self._properties is None:
            self._properties = decode_properties(self.property_octets)
        return self._properties

    def __repr__(self) -> str:
        return f"<ReturnedMessage {self.reply_code} {self.reply_text} routing_key={self.routing_key!r}>"
