"""What all tests share: nothing below the gevent line ever switches greenlets, and no example has to be in time."""

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
