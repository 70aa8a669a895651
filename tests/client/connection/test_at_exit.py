"""A program that just ends: what it published is there, nothing is printed, and it does end."""

import signal
import subprocess
import sys
import time

import pytest

from tests.client.conftest import WAIT_S

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
    return ended(PUBLISHING.format(host=broker.host, port=broker.port, queue=queue, count=count, before=before))


def ended(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60)


def wait_for(channel, queue: str, count: int) -> None:
    """Wait until so many messages are ready: the broker may read a connection after its process has ended."""
    deadline = time.monotonic() + WAIT_S
    while channel.queue_declare(queue, passive=True).message_count != count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_a_program_published_before_it_ended_is_there(broker, channel, queue):
    done = run(broker, queue, 30_000)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
    wait_for(channel, queue, 30_000)


def test_confirms_that_come_while_it_ends_disturb_nobody(broker, queue):
    done = run(broker, queue, 3_000, "channel.confirm_select()")
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_deliveries_that_come_while_it_ends_are_dropped_with_a_word(broker, channel, queue):
    done = run(broker, queue, 3_000, f"channel.basic_consume({queue!r}, lambda *given: None)")
    lines = done.stderr.splitlines()
    assert (0, "") == (done.returncode, done.stdout)
    assert len(lines) <= 1
    assert all("accepts no more callbacks" in line for line in lines)
    # They were not acknowledged.
    wait_for(channel, queue, 3_000)


def test_an_error_that_ends_it_is_all_that_is_told(broker, queue):
    done = run(broker, queue, 10, "raise SystemExit('no more')")
    assert (1, "", "no more\n") == (done.returncode, done.stdout, done.stderr)


FORKING = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads, since Python 3.12
from pybroker.client.connection import at_exit
child = os.fork()
if not child:
    sys.exit(len(at_exit._opened))
assert os.waitpid(child, 0)[1] == 0
channel.confirm_select()
channel.publish_and_wait("", {queue!r}, b"after the child")
"""


def test_a_process_forked_from_it_ends_without_them(broker, channel, queue):
    """Else it would wait for answers that the program gets, or say goodbye in its name."""
    done = run(broker, queue, 0, FORKING.format(queue=queue))
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
    assert 1 == channel.queue_declare(queue, passive=True).message_count


HANGING = """
import os
from pybroker.client import Address, Connection, Options
from pybroker.client.connection import at_exit
at_exit.WAIT_S = 0.5
options = Options(addresses=(Address({host!r}, {port}),), close_timeout_s=30.0)
connections = [Connection(options) for _ in range(4)]
os.kill({pid}, {stop})
"""


def test_a_broker_that_hangs_does_not_keep_it(own):
    broker = own()
    program = HANGING.format(host=broker.host, port=broker.port, pid=broker.pid, stop=int(signal.SIGSTOP))
    try:
        done = ended(program)
    finally:
        broker.process.send_signal(signal.SIGCONT)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
