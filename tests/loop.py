"""Waiting on gevent's loop, for tests whose server runs in their own process."""

from collections.abc import Callable
from typing import Any

import gevent


def until(condition: Callable[[], Any]) -> None:
    """Let the loop run until something is so."""
    for _ in range(3_000):
        if condition():
            return
        gevent.sleep(0.01)
    raise AssertionError("it never came to be so")
