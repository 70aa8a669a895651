"""A program that just ends: what it published is there, nothing is printed, and it does end."""

import subprocess
import sys

import pytest

PUBLISHING = """
from pybroker.client import Address, Connection, Options
connection = Connection(Options(addresses=(Address({host!r}, {port}),), recovery=False))
channel = connection.channel()
{before}
for number in range({count}):
    channel.basic_publish("", {queue!r}, b"x" * 100)
"""


@pytest.fixture
def queue(channel, name):
    """Return the name of a queue that another program may use too."""
    yield channel.queue_declare(name, durable=True).queue
    channel.queue_delete(name)


def run(broker, queue: str, count: int, before: str = "") -> subprocess.CompletedProcess[str]:
    program = PUBLISHING.format(host=broker.host, port=broker.port, queue=queue, count=count, before=before)
    return subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60)


def test_what_a_program_published_before_it_ended_is_there(broker, channel, queue):
    done = run(broker, queue, 30_000)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
    assert 30_000 == channel.queue_declare(queue, passive=True).message_count


def test_confirms_that_come_while_it_ends_disturb_nobody(broker, queue):
    done = run(broker, queue, 3_000, "channel.confirm_select()")
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_deliveries_that_come_while_it_ends_are_dropped_with_a_word(broker, channel, queue):
    done = run(broker, queue, 3_000, f"channel.basic_consume({queue!r}, lambda *given: None)")
    lines = done.stderr.splitlines()
    assert (0, "") == (done.returncode, done.stdout)
    assert len(lines) <= 1
    assert all("takes no callbacks any more" in line for line in lines)
    # They were not acknowledged.
    assert 3_000 == channel.queue_declare(queue, passive=True).message_count


def test_an_error_that_ends_it_is_all_that_is_told(broker, queue):
    done = run(broker, queue, 10, "raise SystemExit('no more')")
    assert (1, "", "no more\n") == (done.returncode, done.stdout, done.stderr)
