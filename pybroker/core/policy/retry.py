"""Delayed retry: which messages that come back wait, and how long, as arguments or policies say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from json import dumps
from typing import Any, Final

from pybroker.text.duration import UNITS_MS

# Messages that a consumer or its connection failed at, those that a consumer gave back, or both.
FAILED: Final = "failed"
RETURNED: Final = "returned"
ALL: Final = "all"
RETRY_TYPES: Final = (ALL, FAILED, RETURNED, "disabled")
# Ten years, as other times.
DELAY_MS_MAX: Final = 315_360_000_000
STEPS_MAX: Final = 100

_STEP: Final = re.compile(r"\s*([0-9]{1,12})(ms|[smhd])\s*")


@dataclass(frozen=True, slots=True)
class Retry:
    """Delays of `kind`: `min_ms` more each time, up to `max_ms`; or `steps`, after which a message is dead."""

    kind: str
    min_ms: int
    max_ms: int
    steps: tuple[int, ...] = ()

    def delay_ms(self, deliveries: int, *, failed: bool) -> int:
        """Return how long a message waits that has come back for the `deliveries`-th time; 0: it does not."""
        if self.kind != ALL and failed != (self.kind == FAILED):
            return 0
        if self.steps:
            return self.steps[min(deliveries, len(self.steps)) - 1]
        return min(self.min_ms * deliveries, self.max_ms)


def parse_steps(value: Any) -> tuple[int, ...] | None:
    """Return the milliseconds of `1s,10s,1m`; None for anything else."""
    if not isinstance(value, str):
        return None
    found = [_STEP.fullmatch(part) for part in value.split(",")]
    steps = tuple(int(each[1]) * UNITS_MS[each[2]] for each in found if each is not None)
    if len(steps) != len(found) or len(steps) > STEPS_MAX or not all(0 < step <= DELAY_MS_MAX for step in steps):
        return None
    return steps


def steps_fault(value: Any) -> str | None:
    """Return why a value is no list of delays, as people write it; None if it is one."""
    if parse_steps(value) is not None:
        return None
    shown = f"'{value}'" if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)
    return f"{shown} are not valid retry delays. Must be up to {STEPS_MAX} durations such as 1s,10s,1m"


def retry_of(arguments: Mapping[str, Any]) -> Retry | None:
    """Return what checked arguments, or a policy's values in their place, come to."""
    kind = arguments.get("x-delayed-retry-type")
    min_ms = arguments.get("x-delayed-retry-min")
    steps = parse_steps(arguments.get("x-retry-delays"))
    if kind == "disabled" or (steps is None and (kind is None or min_ms is None)):
        return None
    return Retry(kind or ALL, min_ms or 0, arguments.get("x-delayed-retry-max", min_ms) or 0, steps or ())
