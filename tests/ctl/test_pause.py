"""Pauses of a real node: they outlive kills, and hold clients of other makers."""

import signal
import tempfile
import threading
from pathlib import Path

import pika

from tests.ctl.live_node import LiveNode

LASTING = pika.BasicProperties(delivery_mode=2)
PAUSED = ("list_queues", "-s", "messages_ready", "paused", "paused_mode", "paused_why")


def connect(node: LiveNode) -> tuple[pika.BlockingConnection, "pika.adapters.blocking_connection.BlockingChannel"]:
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", node.port, heartbeat=0))
    channel = connection.channel()
    channel.confirm_delivery()
    return connection, channel


def test_a_killed_node_comes_back_with_its_pause_and_all_messages():
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        folder = Path(name)
        node = LiveNode(folder)
        try:
            connection, channel = connect(node)
            channel.queue_declare("q", durable=True)
            for _ in range(3):
                channel.basic_publish("", "q", b"x", LASTING)
            assert node.ctl("pause_queue", "q", "--why", "a migration").returncode == 0
            node.signal(signal.SIGKILL)
            node.process.wait(60)
            node.end()
            node = LiveNode(folder)
            assert node.ctl(*PAUSED).stdout == "3\tpublish,consume\twithhold\ta migration\n"
            publisher, to_queue = connect(node)
            confirmed = threading.Event()
            thread = threading.Thread(target=lambda: (to_queue.basic_publish("", "q", b"y", LASTING), confirmed.set()))
            thread.start()
            node.wait_for("list_connections -s state", "blocked\n")
            assert "a migration" in node.ctl("why_blocked").stdout
            connection, channel = connect(node)
            assert channel.basic_get("q")[0] is None
            assert not confirmed.is_set()
            assert node.ctl("resume_queue", "q").returncode == 0
            assert confirmed.wait(60)
            thread.join(60)
            assert [channel.basic_get("q", auto_ack=True)[2] for _ in range(4)] == [b"x", b"x", b"x", b"y"]
            publisher.close()
            connection.close()
        finally:
            node.end()
