"""Waiting for what a thread does, for tests without a loop."""

import time
from collections.abc import Callable

WAIT_S = 30.0


def wait_until(condition: Callable[[], object]) -> None:
    """Return once something is so; fail if that takes too long."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it never came to be so"
        time.sleep(0.001)
