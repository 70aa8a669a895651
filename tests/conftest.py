"""Rules of all tests: nothing below the gevent line ever switches greenlets, and no example has to be in time.

Several processes run them at once (pytest-xdist), file by file.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import greenlet
import pytest
from hypothesis import HealthCheck, settings

TEMPORARY_MAX = 24
# Of a shell's job in the background: Ctrl-C would be ignored by the programs under test, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The path of a Unix socket has 107 octets at most, and the tests make some below this folder.
if len(tempfile.gettempdir()) > TEMPORARY_MAX and os.access("/tmp", os.W_OK):
    os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"
# The daemon and pybrokerctl start many hundred times; compiling their modules would be more than half of each start.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# How fast this machine is at the moment is not what the tests are about.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Each call of the broker is atomic, which is why it needs no locks: a switch in the middle of one would be a race.
ATOMIC = frozenset({"wire", "store", "core", "amqp", "flows", "fuzz"})
TESTS = Path(__file__).resolve().parent
# The folders with the longest tests: these begin, so that no process is left with one of them at the end.
LONGEST = ("spark", "faults", "ctl", "daemon", "interop", "client")


def folder_of(path: str) -> str:
    """Return the first folder below tests/ of a path, or of a test's id."""
    return path.partition("tests/")[2].partition("/")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep a file's tests in one process, for they may share a broker, and all of Spark's, which share a JVM."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if folder_of(nodeid) == "spark" else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest to the front."""
    places = {folder: place for place, folder in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(folder_of(item.nodeid), len(places)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Write half characters, which tests log on purpose, so that a report can be sent from process to process."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.fixture(autouse=True)
def no_greenlet_switch(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test of an atomic layer in which a greenlet was switched to."""
    if request.path.relative_to(TESTS).parts[0] not in ATOMIC:
        yield
        return
    switches: list[str] = []
    previous = greenlet.settrace(lambda event, _: switches.append(event))
    try:
        yield
    finally:
        greenlet.settrace(previous)
    assert switches == [], "a layer that must never block switched greenlets"
