"""Rules of all tests: nothing below the gevent line ever switches greenlets, and no example has to be in time.

Several processes run them at once (pytest-xdist), file by file.
"""

import gc
import os
import random
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import greenlet
import pytest
from hypothesis import HealthCheck, settings

from tests import searches

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
# How fast this machine is at the moment is not what the tests are about. Each run tries other examples, so half of
# hypothesis' hundred will do.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True, max_examples=50
)
settings.load_profile("patient")

# Each call of the broker is atomic, which is why it needs no locks: a switch in the middle of one would be a race.
ATOMIC = frozenset({"wire", "store", "core", "amqp", "flows", "fuzz"})
TESTS = Path(__file__).resolve().parent
WHOLE_SEARCH_S = 3_600
# Spark's tests and the folders with the longest: these begin, so that no process is left with one of them at the end.
LONGEST = ("faults", "ctl", "daemon", "interop", "client")


def place_of(path: str) -> int:
    """Return the place of a file among those that begin."""
    folder = path.partition("tests/")[2].partition("/")[0]
    if scope_of(path) == "spark":
        return -1
    return LONGEST.index(folder) if folder in LONGEST else len(LONGEST)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Have three processes for two cores: a third of their time they wait for disks, clocks and daemons."""
    cores = len(os.sched_getaffinity(0))
    return cores + (cores + 1) // 2


@cache
def scope_of(path: str) -> str:
    """Return what the tests of a file have in common with those of others; its path if that is nothing."""
    text = (TESTS.parent / path).read_text()
    if "pytest.mark.spark" in text:
        return "spark"
    return "sources" if "from tests.sources import" in text and "/" not in path.partition("tests/")[2] else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep together what shares something: a file's tests a broker, Spark's a JVM, the gates what they parsed."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid.partition("::")[0])

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Share out, in a run of all tests, the work of compiling them: each process begins with other files.

    pytest rewrites each assertion, which takes a new checkout longer than anything else before the first test.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    files = sorted(TESTS.rglob("test_*.py"))
    for path in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        # A test that cannot be loaded, or is skipped as a whole, is told of when it is collected.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_configure(config: pytest.Config) -> None:
    """Have the tests that search take samples only, unless the run is one of -m slow."""
    searches.whole = bool(re.search(r"(?<!not )\bslow\b", config.option.markexpr))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name octets that are no text by their argument: gzip writes the time, and all processes need equal names."""
    return argname if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest to the front; searches that are whole are slow."""
    if searches.whole:
        for item in items:
            if item.get_closest_marker("search"):
                item.add_marker("slow")
                item.add_marker(pytest.mark.timeout(WHOLE_SEARCH_S))
    items.sort(key=lambda item: place_of(item.nodeid.partition("::")[0]))


def pytest_collection_finish() -> None:
    """Spare the garbage collector the tests themselves: a million objects, gone over each time that a test collects."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Write half characters, which tests log on purpose, so that a report can be sent from process to process."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.fixture
def seed() -> int:
    """Return the seed of a search: TESTS_SEED to see one again, else another one each time. It is printed."""
    seed = int(os.environ.get("TESTS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"TESTS_SEED={seed}")
    return seed


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
