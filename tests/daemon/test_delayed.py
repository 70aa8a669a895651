"""Delayed messages of a real daemon, killed around the time when they are due, and what operators see of them."""

import random
import signal
import time

import pika
import pytest

from tests.daemon.running import Running


@pytest.fixture
def folder(tmp_path):
    """The running daemon stands in a list, so that the test may replace it; the last one is ended."""
    running = [Running(tmp_path)]
    yield tmp_path, running
    if running[-1].process.poll() is None:
        running[-1].process.kill()
    running[-1].process.communicate()


def connect(running):
    """Return a connection and a channel, exchange `later` and queue `q` declared."""
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", running.port))
    channel = connection.channel()
    arguments = {"x-delayed-type": "direct"}
    channel.exchange_declare("later", "x-delayed-message", durable=True, arguments=arguments)
    channel.queue_declare("q", durable=True)
    channel.queue_bind("q", "later", "k")
    channel.confirm_delivery()
    return connection, channel


def send(channel, body, key="k", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    channel.basic_publish("later", key, body, pika.BasicProperties(delivery_mode=2, headers=headers), mandatory=True)


def killed(tmp_path, running):
    """Kill the daemon, and start the next one."""
    running[-1].signal(signal.SIGKILL)
    running[-1].ended()
    running.append(Running(tmp_path))


def drain(channel, count):
    """Take messages until there are so many, or none comes any more."""
    found = []
    for method, _, body in channel.consume("q", inactivity_timeout=30):
        if method is None:
            break
        channel.basic_ack(method.delivery_tag)
        found.append((body, method.redelivered))
        if len(found) == count:
            break
    channel.cancel()
    return found


def test_what_is_confirmed_comes_once_though_the_daemon_is_killed_when_it_is_due(folder):
    tmp_path, running = folder
    pick = random.Random(3)
    _, channel = connect(running[-1])
    bodies = [b"%d" % number for number in range(150)]
    for body in bodies:
        send(channel, body, x_delay=pick.randrange(1, 3_000))
    at = int(time.time() * 1_000) + 1_500
    send(channel, b"time", x_deliver_at=at)
    for _ in range(2):
        killed(tmp_path, running)
        time.sleep(0.4)
    connection, channel = connect(running[-1])
    found = drain(channel, len(bodies) + 1)
    assert sorted([*bodies, b"time"]) == sorted(body for body, _ in found)
    time.sleep(0.2)
    assert 0 == channel.queue_declare("q", passive=True).method.message_count
    connection.close()
    assert (0, "") == running[-1].stop()
    assert "ERROR" not in running[-1].log.upper()


def test_operators_see_what_waits_and_cancel_it_for_good(folder):
    tmp_path, running = folder
    _, channel = connect(running[-1])
    for key in ("mail.1", "mail.2", "call"):
        send(channel, b"12345", key, x_delay=3_600_000)
    ctl = running[-1].ctl
    lines = ctl("-q", "list_scheduled", "routing_key", "size", "persistent").splitlines()
    assert ["mail.1\t5\ttrue", "mail.2\t5\ttrue", "call\t5\ttrue"] == lines[1:]
    assert "later\t3" in ctl("-q", "list_exchanges", "name", "messages_delayed").splitlines()
    asked = ("cancel_scheduled", "later", "--routing-key", "^mail")
    assert "2 messages would be cancelled" in ctl(*asked, "--dry-run")
    assert "2 messages cancelled" in ctl(*asked)
    killed(tmp_path, running)
    ctl = running[-1].ctl
    assert ["call"] == ctl("-q", "list_scheduled", "routing_key").splitlines()[1:]
    (number,) = ctl("-q", "list_scheduled", "id").splitlines()[1:]
    assert "1 message cancelled" in ctl("cancel_scheduled", "later", number)
    assert f"no message with id {number} is scheduled in exchange 'later'" in ctl(
        "cancel_scheduled", "later", number, expected=65
    )
    assert "specify ids, --routing-key or --all" in ctl("cancel_scheduled", "later", expected=65)
    assert "is of type topic: it holds no messages" in ctl("cancel_scheduled", "amq.topic", "--all", expected=65)
    assert (0, "") == running[-1].stop()
