"""Waiting for a condition: looked at often in the beginning, less often later."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

FIRST_PAUSE_S: Final = 0.002
PAUSE_S_MAX: Final = 0.05

T = TypeVar("T")


def wait_for(look: Callable[[], T], is_met: Callable[[T], object], timeout_s: float) -> T:
    """Return the first result of `look` that meets the condition, else the last one after `timeout_s` seconds."""
    deadline, pause_s = time.monotonic() + timeout_s, FIRST_PAUSE_S
    while True:
        late = time.monotonic() >= deadline
        found = look()
        if late or is_met(found):
            return found
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, PAUSE_S_MAX)
