"""What all tests share: nothing below the gevent line ever switches greenlets, and no example has to be in time.

Several processes run them at once (pytest-xdist). Tests of one group stay in one process: all of Spark's, for a virtual
machine costs ten seconds and half a gigabyte, and those of a module that start a broker together.
"""

from collections.abc import Iterator
from pathlib import Path

import greenlet
import pytest
from hypothesis import HealthCheck, settings

# How fast this machine is at the moment is not what the tests are about.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Each call of the broker is atomic, which is why it needs no locks: a switch in the middle of one would be a race.
ATOMIC = frozenset({"wire", "store", "core", "amqp", "flows", "fuzz"})
TESTS = Path(__file__).resolve().parent
# Fixtures of these last longer than a test: each process would make its own.
SHARED = frozenset({"module", "package"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests into groups."""
    for item in items:
        if "spark" in item.fixturenames or item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif any(fixture.scope in SHARED for found in item._fixtureinfo.name2fixturedefs.values() for fixture in found):
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(TESTS).as_posix()))


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
