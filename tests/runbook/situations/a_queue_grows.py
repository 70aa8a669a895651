"""A queue that will be full soon."""

import time

import pika

from tests.ctl.live_node import LiveNode

SYMPTOM = "A queue grows"
FAILS = {"pybrokerctl check_queue_growth --full-within 30m --drain-over 2h": 69}


def prepare(node: LiveNode) -> None:
    """Publish into a queue with a limit for longer than the node needs to notice."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", node.port)) as connection:
        channel = connection.channel()
        channel.queue_declare("orders", durable=True)
        node.ctl("set_policy", "room", "^orders$", '{"max-length":500}')
        until = time.monotonic() + 6
        while time.monotonic() < until:
            channel.basic_publish("", "orders", b"work", pika.BasicProperties(delivery_mode=2))
            connection.sleep(0.1)
