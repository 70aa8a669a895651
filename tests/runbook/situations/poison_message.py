"""A consumer holds a message that it does not acknowledge; others wait behind it."""

from collections.abc import Iterator

import pika

from tests.ctl.live_node import LiveNode

SYMPTOM = "A consumer fails at a message, and nobody knows what is in it"


def prepare(node: LiveNode) -> Iterator[None]:
    """Publish some, and let a consumer keep the first."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", node.port)) as connection:
        channel = connection.channel()
        channel.queue_declare("orders", durable=True)
        for body in (b"poison", b'{"id": 18}', b"\0\1"):
            properties = pika.BasicProperties(delivery_mode=2, headers={"kind": "invoice"})
            channel.basic_publish("", "orders", body, properties)
        channel.basic_qos(prefetch_count=1)
        channel.basic_consume("orders", lambda *_: None)
        connection.process_data_events(1)
        yield
