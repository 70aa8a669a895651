"""A worker fails at each message, and gets it again without end; a policy then makes it wait."""

from collections.abc import Iterator

import pika

from tests.ctl.live_node import LiveNode

SYMPTOM = "A worker fails at the same message again and again, as fast as it can"


def prepare(node: LiveNode) -> Iterator[None]:
    """Publish a message, and let a worker have failed at it."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", node.port)) as connection:
        channel = connection.channel()
        channel.queue_declare("orders", durable=True)
        channel.basic_publish("", "orders", b"poison", pika.BasicProperties(delivery_mode=2))
        for _ in range(3):
            got, _, _ = channel.basic_get("orders")
            channel.basic_reject(got.delivery_tag, requeue=True)
        yield
