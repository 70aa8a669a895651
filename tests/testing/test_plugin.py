"""The plugin in runs of pytest of its own."""

import importlib.metadata
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.testing.test_daemon_process import wait_until_gone

pytest_plugins = ["pytester"]
INSTALLED = [*importlib.metadata.entry_points(group="pytest11", name="pybroker")]
# An environment that was made before there was the entry point.
OPTIONS = ("-p", "no:cacheprovider", *(() if INSTALLED else ("-p", "pybroker.testing.plugin")))
HEAD = """
import pika, pytest

@pytest.fixture
def connection(pybroker):
    with pika.BlockingConnection(pika.URLParameters(pybroker.uri)) as connection:
        yield connection

def confirming(connection):
    channel = connection.channel()
    channel.confirm_delivery()
    return channel
"""


def test_each_test_has_a_virtual_host_of_its_own_on_one_broker(pytester):
    pytester.makepyfile(
        HEAD
        + """
seen = set()

@pytest.mark.parametrize("n", ["a b/c", "d" * 200])
def test_it(pybroker, connection, n):
    seen.add((pybroker.broker.pid, pybroker.name))
    channel = confirming(connection)
    channel.queue_declare("q")
    channel.basic_publish("", "q", b"1")
    assert pybroker.queue("q").bodies() == [b"1"]
    assert pybroker.published("", "q", count=1)
    assert pybroker.broker.request("list_users")[0]["tags"] == ["monitoring"]

def test_after(pybroker_server, pybroker):
    assert {pid for pid, _ in seen} == {pybroker_server.pid}
    assert len({name for _, name in seen}) == 2
    assert all(len(name) < 80 for _, name in seen)
    assert pybroker_server.timeout_s == 7.5
"""
    )
    pytester.makeini("[pytest]\npybroker_timeout = 7.5\npybroker_config =\n    default_user_tags.monitoring = true\n")
    pytester.runpytest_subprocess(*OPTIONS, "--strict-markers").assert_outcomes(passed=3)


def test_strict_by_command_line_marker_and_configuration(pytester):
    pytester.makepyfile(
        HEAD
        + """
def publish(connection):
    confirming(connection).basic_publish("amq.fanout", "", b"lost")

def test_option(connection):
    publish(connection)

@pytest.mark.pybroker(strict=False)
def test_marked(connection):
    publish(connection)

@pytest.mark.pybroker(strict="connections")
def test_leaks(pybroker):
    pybroker.leak = pika.BlockingConnection(pika.URLParameters(pybroker.uri))

def test_allows(pybroker, connection):
    pybroker.allow("unroutable")
    publish(connection)

def test_uses_none():
    pass
"""
    )
    result = pytester.runpytest_subprocess(*OPTIONS, "--strict-markers", "--pybroker-strict")
    result.assert_outcomes(passed=4, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_leaks*",
            "pybroker strict: 1 connection still open after the test: Pika*",
            "*test_option*",
            "pybroker strict: 1 message reached no queue:",
            "  exchange 'amq.fanout', key '': 'lost' -> no queue",
        ]
    )
    pytester.makeini("[pytest]\npybroker_strict = unroutable\n")
    pytester.runpytest_subprocess(*OPTIONS, "-k", "test_option or test_marked").assert_outcomes(passed=1, failed=1)
    quiet = pytester.runpytest_subprocess(*OPTIONS, "-k", "test_option or test_marked", "--no-pybroker-strict")
    quiet.assert_outcomes(passed=2)


def test_a_check_that_does_not_exist_is_a_mistake_of_usage(pytester):
    pytester.makepyfile("def test_it(pybroker): pass")
    result = pytester.runpytest_subprocess(*OPTIONS, "-o", "pybroker_strict=unroutabel")
    result.stdout.fnmatch_lines(["*the strict mode of pybroker has no check unroutabel; it has *"])
    assert result.ret


def test_a_failure_shows_the_broker_and_the_next_test_finds_it_well(pytester):
    pytester.makepyfile(
        HEAD
        + """
def test_fails(pybroker, connection):
    confirming(connection).basic_publish("amq.fanout", "k", b"lost")
    pybroker.latency(0.2)
    pybroker.refuse_connections()
    assert False, "mine"

def test_kills(pybroker):
    pybroker.kill()

def test_finds_it_well(connection):
    assert connection.is_open
"""
    )
    result = pytester.runpytest_subprocess(*OPTIONS)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["*AssertionError: mine", "*Captured pybroker call*", "  exchange 'amq.fanout', key 'k': 'lost' -> no queue"]
    )


def test_a_fixture_of_the_same_name_is_left_alone(pytester):
    pytester.makepyfile(
        """
import pytest

@pytest.fixture
def pybroker():
    return "mine"

def test_it(pybroker):
    assert pybroker == "mine"
"""
    )
    pytester.runpytest_subprocess(*OPTIONS, "--pybroker-strict").assert_outcomes(passed=1)


def test_each_worker_of_xdist_has_a_broker(pytester):
    pytester.makepyfile(
        HEAD
        + """
@pytest.mark.parametrize("n", range(4))
def test_it(pybroker, connection, n):
    with open(f"pid.{pybroker.broker.pid}", "w"):
        pass
"""
    )
    pytester.runpytest_subprocess(*OPTIONS, "-n", "2", "--dist", "each").assert_outcomes(passed=8)
    pids = [int(path.name.partition(".")[2]) for path in pytester.path.glob("pid.*")]
    assert len(pids) == 2
    for pid in pids:
        wait_until_gone(pid)


def test_a_run_that_is_killed_leaves_nothing(pytester):
    pytester.makepyfile(
        """
import time

def test_it(pybroker):
    with open("new", "w") as file:
        file.write(f"{pybroker.broker.pid} {pybroker.broker._process.pid} {pybroker.broker.folder}")
    import os
    os.rename("new", "facts")
    time.sleep(600)
"""
    )
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *OPTIONS], cwd=pytester.path, stdout=subprocess.DEVNULL
    ) as run:
        while not (pytester.path / "facts").exists():
            assert run.poll() is None
            time.sleep(0.02)
        run.send_signal(signal.SIGKILL)
    pid, supervisor, folder = (pytester.path / "facts").read_text().split()
    wait_until_gone(int(pid))
    wait_until_gone(int(supervisor))
    assert not Path(folder).exists()


def test_a_run_without_it_starts_and_loads_nothing(pytester):
    pytester.makepyfile(
        """
import sys

def test_it():
    loaded = sorted(name for name in sys.modules if name.partition(".")[0] in {"pybroker", "gevent"})
    assert loaded == ["pybroker", "pybroker.testing", "pybroker.testing.plugin"]
"""
    )
    pytester.runpytest_subprocess(*OPTIONS, "--pybroker-strict").assert_outcomes(passed=1)


def test_the_marker_and_the_options_are_explained(pytester):
    text = pytester.runpytest_subprocess(*OPTIONS, "--help").stdout.str()
    assert re.search(r"--pybroker-strict\s+Fail tests that leave", text)
