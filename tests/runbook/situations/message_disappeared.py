"""Messages expire at once in a queue, and find no binding in an exchange, again and again."""

import threading
from collections.abc import Generator

from pybroker.client import Properties, Table, connect
from tests.ctl.live_node import LiveNode

SYMPTOM = "My message disappeared"
PAUSE_S = 0.05


def prepare(node: LiveNode) -> Generator[None, None, None]:
    """Publish until the commands have run."""
    over = threading.Event()
    with connect(f"amqp://guest:guest@127.0.0.1:{node.port}/") as connection:
        channel = connection.channel()
        channel.queue_declare("orders", durable=True, arguments={"x-message-ttl": 0})

        def publish() -> None:
            while not over.wait(PAUSE_S):
                channel.basic_publish("", "orders", b"gone")
                channel.basic_publish("amq.topic", "nobody.wants", b"it", Properties(headers=Table({"order": 7})))

        thread = threading.Thread(target=publish)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
