"""History: samples of some figures, fine for a while, and coarser for longer."""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

STEP_MS: Final = 5_000
# Of a figure whose last sample is older nothing is known.
LIVE_MS: Final = 3 * STEP_MS
# RabbitMQ's: (kept for so many seconds, a sample every so many).
GLOBAL: Final = ((600, 5), (3_600, 60), (28_800, 600), (86_400, 1_800))
BASIC: Final = ((600, 5), (3_600, 60))


class Window(NamedTuple):
    """The samples that are asked for: from so many milliseconds ago, one every so many."""

    age_ms: int
    step_ms: int


class History:
    """Samples of the figures `names`, which are whole numbers, at the times (ms since 1970) that they are added for."""

    __slots__ = ("_levels", "_steps", "names")

    def __init__(self, names: Sequence[str], retention: Sequence[tuple[int, int]] = GLOBAL) -> None:
        self.names = {name: number for number, name in enumerate(names, 1)}
        self._steps = [1_000 * step_s for _, step_s in retention]
        self._levels: list[deque[array[int]]] = [deque(maxlen=1 + kept_s // step_s) for kept_s, step_s in retention]

    def add(self, now_ms: int, values: Sequence[int]) -> None:
        """Add a sample; of two in one step of the grid the first stays, but for that of now."""
        sample = array("q", (now_ms, *values))
        for level, step_ms in zip(self._levels, self._steps, strict=True):
            if len(level) > 1 and level[-1][0] // step_ms == level[-2][0] // step_ms:
                level.pop()
            level.append(sample)

    def rate(self, name: str, now_ms: int) -> float:
        """Return how fast a figure changed between the last two steps, per second; 0 if that is long ago."""
        recent = self._levels[0]
        if len(recent) < 2 or now_ms - recent[-1][0] > LIVE_MS:
            return 0.0
        place, last = self.names[name], recent[-1]
        # The last sample may be younger than a step.
        before = recent[-3] if len(recent) > 2 and last[0] - recent[-2][0] < STEP_MS // 2 else recent[-2]
        passed_ms = last[0] - before[0]
        return 1_000 * (last[place] - before[place]) / passed_ms if passed_ms > 0 else 0.0

    def details(self, name: str, now_ms: int, window: Window | None = None) -> dict[str, Any]:
        """Return the rate of a figure, and its samples in a window, the newest first."""
        document: dict[str, Any] = {"rate": self.rate(name, now_ms)}
        if window is None:
            return document
        values = self._values(name, now_ms, window)
        numbers = [each["sample"] for each in values]
        if numbers:
            document["avg"] = sum(numbers) / len(numbers)
            passed_ms = values[0]["timestamp"] - values[-1]["timestamp"]
            document["avg_rate"] = 1_000 * (numbers[0] - numbers[-1]) / max(1, passed_ms)
        document["samples"] = values
        return document

    def _values(self, name: str, now_ms: int, window: Window) -> list[dict[str, int]]:
        """Return the samples: at each moment the last one before it. Moments before the first are left out.

        If they are all before it there is the last sample, as of the next moment: clients count on one.
        """
        place = self.names[name]
        samples = self._covering(now_ms - window.age_ms)
        if not samples:
            return []
        times = [sample[0] for sample in samples]
        newest_ms = now_ms - now_ms % window.step_ms
        found = []
        for at_ms in range(newest_ms, newest_ms - window.age_ms - 1, -window.step_ms):
            number = bisect_right(times, at_ms) - 1
            if number < 0:
                break
            found.append({"sample": samples[number][place], "timestamp": at_ms})
        return found or [{"sample": samples[-1][place], "timestamp": newest_ms + window.step_ms}]

    def _covering(self, since_ms: int) -> "list[array[int]]":
        """Return the finest samples that go back so far, or as far as any do; ascending."""
        begun_ms = min((level[0][0] for level in self._levels if level), default=0)
        return next((list(level) for level in self._levels if level and level[0][0] <= max(since_ms, begun_ms)), [])
