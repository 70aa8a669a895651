"""Delayed retry on a real daemon by policy alone: plain workers get it, and a kill keeps every due time."""

import json
import time
from datetime import datetime

import pika
import pytest

from tests.daemon.running import Running
from tests.daemon.test_delayed import killed

MESSAGES = 10_000


@pytest.fixture
def folder(tmp_path):
    """The running daemon stands in a list, so that the test may replace it; the last one is ended."""
    running = [Running(tmp_path)]
    yield tmp_path, running
    if running[-1].process.poll() is None:
        running[-1].process.kill()
    running[-1].process.communicate()


def connect(running):
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", running.port))
    channel = connection.channel()
    channel.queue_declare("q", durable=True)
    return connection, channel


def fill(channel, count):
    for number in range(count):
        channel.basic_publish("", "q", b"%d" % number, pika.BasicProperties(delivery_mode=2))
    assert count == channel.queue_declare("q", passive=True).method.message_count


def counts(running):
    (line,) = [
        line
        for line in running.ctl("-q", "list_queues", "name", "messages_ready", "messages_delayed").splitlines()
        if line.startswith("q\t")
    ]
    return tuple(map(int, line.split("\t")[1:]))


def eventually(look, expected):
    for _ in range(200):
        if look() == expected:
            return
        time.sleep(0.1)
    assert expected == look()


@pytest.mark.slow
def test_a_kill_keeps_every_due_time(folder):
    tmp_path, running = folder
    _, channel = connect(running[-1])
    fill(channel, MESSAGES)
    running[-1].ctl("set_policy", "later", "^q$", '{"delayed-retry-type": "all", "delayed-retry-min": 3600000}')
    seen = []

    def on_message(channel, method, _properties, _body):
        """Give half of them back at once, the others one by one: these have due times of their own."""
        seen.append(method.delivery_tag)
        if 2 * len(seen) == MESSAGES:
            channel.basic_nack(method.delivery_tag, multiple=True)
        elif 2 * len(seen) > MESSAGES:
            channel.basic_nack(method.delivery_tag)
        if len(seen) == MESSAGES:
            channel.stop_consuming()

    channel.basic_consume("q", on_message)
    channel.start_consuming()
    eventually(lambda: counts(running[-1]), (0, MESSAGES))
    time.sleep(1)  # what nobody waits for is written soon
    for _ in range(2):
        killed(tmp_path, running)
        assert (0, MESSAGES) == counts(running[-1])
    assert (0, "") == running[-1].stop()
    running.append(Running(tmp_path))
    assert (0, MESSAGES) == counts(running[-1])
    _, channel = connect(running[-1])
    assert MESSAGES == channel.queue_purge("q").method.message_count
    assert (0, 0) == counts(running[-1])
    assert (0, "") == running[-1].stop()
    assert "ERROR" not in running[-1].log.upper()


def test_a_plain_worker_gets_retries_and_then_a_dead_letter(folder):
    _, running = folder
    connection, channel = connect(running[-1])
    channel.queue_declare("dead", durable=True)
    running[-1].ctl(
        "set_policy",
        "r",
        "^q$",
        '{"retry-delays": "100ms,200ms", "dead-letter-exchange": "", "dead-letter-routing-key": "dead"}',
    )
    fill(channel, 3)
    seen = []
    for method, properties, body in channel.consume("q", inactivity_timeout=30):
        seen.append((body, (properties.headers or {}).get("x-delivery-count", 0)))
        channel.basic_reject(method.delivery_tag, requeue=True)
        if len(seen) == 9:
            break
    channel.cancel()
    assert [(b"%d" % number, times) for number in range(3) for times in range(3)] == sorted(seen)
    found = {}
    for method, properties, body in channel.consume("dead", inactivity_timeout=30):
        channel.basic_ack(method.delivery_tag)
        found[body] = properties.headers["x-death"][0]["reason"]
        if len(found) == 3:
            break
    assert {b"0": "delivery_limit", b"1": "delivery_limit", b"2": "delivery_limit"} == found
    channel.cancel()
    connection.close()


def test_a_lost_connection_is_a_failure(folder):
    _, running = folder
    connection, channel = connect(running[-1])
    fill(channel, 2)
    running[-1].ctl("set_policy", "later", "^q$", '{"delayed-retry-type": "failed", "delayed-retry-min": 3600000}')
    method, _, _ = channel.basic_get("q")
    channel.basic_nack(method.delivery_tag)
    assert (2, 0) == counts(running[-1])
    channel.basic_get("q")
    connection.close()
    eventually(lambda: counts(running[-1]), (1, 1))


def dues(running):
    """Return when each message that waits is due, by seq."""
    messages = json.loads(running.ctl("--formatter", "json", "peek_messages", "q", "--delayed", "--count", "99"))
    return {message["seq"]: datetime.fromisoformat(message["due_at"]) for message in messages}


def test_a_backup_has_those_that_wait_with_their_due_times(folder):
    tmp_path, running = folder
    connection, channel = connect(running[-1])
    fill(channel, 20)
    running[-1].ctl("set_policy", "later", "^q$", '{"delayed-retry-type": "all", "delayed-retry-min": 3600000}')
    for number in range(20):
        method, _, _ = channel.basic_get("q")
        if number % 2:
            channel.basic_nack(method.delivery_tag)
    eventually(lambda: counts(running[-1]), (0, 10))
    due = dues(running[-1])
    running[-1].ctl("backup", "create", str(tmp_path / "backup"))
    running[-1].ctl("backup", "verify", str(tmp_path / "backup"))
    restored = tmp_path / "restored"
    restored.mkdir()
    running[-1].ctl("backup", "restore", str(tmp_path / "backup"), "--data-dir", str(restored / "data"))
    connection.close()
    assert (0, "") == running[-1].stop()
    running.append(Running(restored))
    # Unacknowledged messages are ready.
    assert (10, 10) == counts(running[-1])
    after = dues(running[-1])
    assert all(abs(after[seq] - due_at).total_seconds() < 1 for seq, due_at in due.items())
