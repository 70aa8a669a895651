import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
import gevent
from gevent.event import Event
from pybroker.daemon.system.signals import Signals

def say(word):
    os.write(1, word.encode() + b"\\n")

def at_once(number):
    say(f"at once {number}")
    os._exit(128 + number)

asked = Event()
gevent.spawn(gevent.sleep, 60)
signals = Signals(asked.set, at_once)
signals.install(lambda: say("reopened"))
say("ready")
asked.wait()
say("stopping")
if "done" in sys.argv:
    signals.expect_none()
    say("done")
    sys.stdin.read()
    sys.exit(0)
if "busy" in sys.argv:
    while True:
        pass
gevent.sleep(60)
"""


@pytest.fixture
def start():
    started = []

    def start(*args):
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(child)
        assert child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in started:
        child.kill()
        child.stdout.close()
        child.wait(60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("args", [(), ("busy",)])
def test_the_first_one_stops_politely_the_second_at_once(start, number, args):
    child = start(*args)
    child.send_signal(number)
    assert child.stdout.readline() == "stopping\n"
    child.send_signal(number)
    assert child.stdout.readline() == f"at once {int(number)}\n"
    assert child.wait(60) == 128 + number


def test_once_all_is_stopped_no_signal_changes_the_exit_code(start):
    child = start("done")
    child.send_signal(signal.SIGTERM)
    assert child.stdout.readline() == "stopping\n"
    assert child.stdout.readline() == "done\n"
    child.send_signal(signal.SIGTERM)
    child.stdin.close()
    assert child.wait(60) == 0


def test_sighup_reopens_the_log_as_often_as_it_comes(start):
    child = start()
    for _ in range(2):
        child.send_signal(signal.SIGHUP)
        assert child.stdout.readline() == "reopened\n"


def test_a_reader_that_goes_away_kills_nothing(start):
    child = start()
    child.send_signal(signal.SIGPIPE)
    child.send_signal(signal.SIGHUP)
    assert child.stdout.readline() == "reopened\n"
