"""A queue whose consumers do nothing."""

import time

import pika

from tests.ctl.live_node import LiveNode

SYMPTOM = "Work is late, and queues seem to stand still"
FAILS = {"pybrokerctl check_queue_age --older-than 1s": 69}


def prepare(node: LiveNode) -> None:
    """Publish messages, and let them grow old."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", node.port)) as connection:
        channel = connection.channel()
        channel.queue_declare("orders", durable=True)
        for _ in range(2):
            channel.basic_publish("", "orders", b"work", pika.BasicProperties(delivery_mode=2))
    time.sleep(1.5)
