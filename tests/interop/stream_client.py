"""Readers and a publisher of streams on the raw client (`peer.py`): every delivery with its offset, every confirm."""

import contextlib
import struct
from collections.abc import Iterator
from typing import NamedTuple, Self

from pamqp import commands

from tests.interop.broker_process import BrokerProcess
from tests.interop.peer import NO_PROPERTIES, Delivery, Peer

OFFSET_NAME = b"\x0fx-stream-offset"
QUIET_S = 0.15  # nothing more comes if nothing came for so long


def offset_entry(offset: int) -> bytes:
    """Return the entry of a headers table that tells a message's offset."""
    return OFFSET_NAME + b"l" + struct.pack(">q", offset)


class Got(NamedTuple):
    """One delivery: where it stands in the stream, its body, its tag, and all else that came with it."""

    offset: int
    body: bytes
    tag: int
    delivery: Delivery


class Reader:
    """One consumer of one stream, on a connection of its own unless a peer is given."""

    def __init__(
        self,
        broker: BrokerProcess,
        stream: str,
        offset: object = None,
        *,
        prefetch: int = 500,
        peer: Peer | None = None,
        tag: str = "reader",
        **options: object,
    ) -> None:
        self.peer = peer or broker.peer()
        self.is_ours, self.prefetch, self.tag = broker.is_ours, prefetch, tag
        arguments = {} if offset is None else {"x-stream-offset": offset}
        self.peer.call(commands.Basic.Qos(prefetch_count=prefetch), commands.Basic.QosOk)
        consume = commands.Basic.Consume(queue=stream, consumer_tag=tag, arguments=arguments, **options)
        self.peer.call(consume, commands.Basic.ConsumeOk)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.peer.socket.close()

    def take(self, count: int, *, ack: bool = True) -> list[Got]:
        """Return the next deliveries, which are acknowledged one after another."""
        return [self.one(ack=ack) for _ in range(count)]

    def one(self, *, ack: bool = True) -> Got:
        """Return the next delivery. It was never delivered before, whatever became of others."""
        delivery = self.peer.read_content(self.peer.expect(commands.Basic.Deliver))
        assert delivery.method.redelivered is False
        tag = delivery.method.delivery_tag
        if ack:
            self.peer.send(commands.Basic.Ack(tag))
        at = delivery.properties.index(OFFSET_NAME) + len(OFFSET_NAME)
        assert delivery.properties[at : at + 1] == b"l"
        return Got(struct.unpack_from(">q", delivery.properties, at + 1)[0], delivery.body, tag, delivery)

    def window(self) -> list[Got]:
        """Return what comes until something has to be acknowledged: RabbitMQ delivers chunks, as many as it likes."""
        got = self.take(self.prefetch, ack=False)
        return got if self.is_ours else got + self.rest()

    def rest(self) -> list[Got]:
        """Return what else comes without any acknowledgement."""
        got: list[Got] = []
        with quiet(self.peer):
            while True:
                got.append(self.one(ack=False))
        return got

    def until_closed(self) -> commands.Channel.Close:
        """Return the broker's channel.close, whatever is delivered before it."""
        while True:
            method = self.peer.expect(commands.Basic.Deliver, commands.Channel.Close)
            if isinstance(method, commands.Channel.Close):
                return method
            self.peer.read_content(method)

    def offsets(self, count: int) -> list[int]:
        """Return the offsets of the next deliveries."""
        return [got.offset for got in self.take(count)]

    def ack(self, tag: int = 0, *, multiple: bool = True) -> None:
        self.peer.send(commands.Basic.Ack(tag, multiple=multiple))


@contextlib.contextmanager
def quiet(peer: Peer) -> Iterator[None]:
    """Leave the context when nothing came for a moment."""
    before = peer.socket.gettimeout()
    peer.socket.settimeout(QUIET_S)
    try:
        yield
    except TimeoutError:
        pass
    finally:
        peer.socket.settimeout(before)


class Stream:
    """One stream, made anew, and a connection in confirm mode that publishes to it."""

    def __init__(self, broker: BrokerProcess, name: str, **arguments: object) -> None:
        self.broker, self.name, self.confirmed = broker, name, 0
        self.peer = broker.peer()
        self.arguments = {"x-queue-type": "stream", **arguments}
        self.peer.call(commands.Queue.Delete(queue=name), commands.Queue.DeleteOk)
        self.declare()
        self.peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)

    def declare(self) -> commands.Queue.DeclareOk:
        """Declare it, once more if it is there."""
        declare = commands.Queue.Declare(queue=self.name, durable=True, arguments=self.arguments)
        return self.peer.call(declare, commands.Queue.DeclareOk)

    def publish(self, *bodies: bytes, exchange: str = "", key: str | None = None, **options: object) -> None:
        """Publish to it, or to an exchange, and wait for the confirms."""
        properties = options.pop("properties", NO_PROPERTIES)
        for body in bodies:
            self.peer.publish(exchange, self.name if key is None else key, body, properties, **options)
        self.wait(len(bodies))

    def number(self, numbers: range) -> None:
        """Publish a message for each number; its body is the number."""
        self.publish(*(b"%d" % number for number in numbers))

    def wait(self, count: int) -> None:
        """Wait until so many more are confirmed."""
        wanted = self.confirmed + count
        while self.confirmed < wanted:
            self.confirmed = self.peer.expect(commands.Basic.Ack).delivery_tag

    def bind(self, exchange: str, key: str, **arguments: object) -> None:
        bind = commands.Queue.Bind(queue=self.name, exchange=exchange, routing_key=key, arguments=arguments)
        self.peer.call(bind, commands.Queue.BindOk)

    def reader(self, offset: object = None, **options: object) -> Reader:
        """Return a consumer of it."""
        return Reader(self.broker, self.name, offset, **options)

    def delete(self) -> None:
        """Delete it, on a connection that is sure to be there."""
        self.peer.socket.close()
        with self.broker.peer() as peer:
            peer.call(commands.Queue.Delete(queue=self.name), commands.Queue.DeleteOk)
            peer.close()
