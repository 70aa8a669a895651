"""The recent trend of a gauge: its slope with a confidence interval, and since when it holds. Pure Python, no Spark.

The points are cut at the last break: as long as two lines explain them much better than one, the older part is left
out. The slope of the rest is Theil-Sen's, the median of the slopes between all pairs of points; single outliers do not
move it. The interval is Sen's: 95 percent, as far as deviations from the line are independent of each other.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

Point = tuple[float, float]
# Of x, y, x squared, xy and y squared, up to a point.
Sums = tuple[float, float, float, float, float]

POINTS_MIN: Final = 5
# Slopes between all pairs are made of so many points at most; of more every n-th is taken.
POINTS_FITTED: Final = 60
STEP_S: Final = 60.0
# Everything has a row at least every five minutes; after a longer silence nothing is known.
SILENCE_S: Final = 420.0
# A break counts when the squared deviations fall by more than this times log(n)/n, in logarithms.
PENALTY: Final = 10.0
Z: Final = 1.96


class Trend(NamedTuple):
    """`slope`, and its bounds `low` and `high`, are per second; `level` is the line's value at `until_s`."""

    slope: float
    low: float
    high: float
    since_s: float
    until_s: float
    level: float

    @property
    def rise(self) -> float:
        """Return by how much the gauge rose on this line."""
        return self.slope * (self.until_s - self.since_s)

    def seconds_to(self, limit: float, now: float) -> tuple[float, float | None, float | None] | None:
        """Return in how many seconds a limit is reached from a value of now, at the soonest and at the latest.

        None if the trend does not lead there. The latest is None if the slope may be none; the soonest likewise.
        """
        left = limit - now
        if not left:
            return 0.0, 0.0, 0.0
        if not self.slope or left / self.slope < 0:
            return None
        times = [left / slope if slope and left / slope > 0 else None for slope in (self.low, self.high)]
        known = [each for each in times if each is not None]
        return left / self.slope, min(known, default=None), max(known) if len(known) == 2 else None


def trend(points: Sequence[Point], until_s: float | None = None) -> Trend | None:
    """Return the trend of points (seconds, value), ascending; None if too little is known.

    A row is written when something changes, so the value stands until shortly before the next row, and to `until_s`.
    """
    known = _filled(points, until_s)
    if len(known) < POINTS_MIN:
        return None
    recent = known[_last_break(known) :]
    fitted = recent[:: -(-len(recent) // POINTS_FITTED)] if len(recent) > POINTS_FITTED else recent
    slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) for n, a in enumerate(fitted) for b in fitted[n + 1 :])
    slope = median(slopes)
    low, high = _interval(slopes, len(fitted))
    end = recent[-1][0]
    level = median(value + slope * (end - at) for at, value in fitted)
    return Trend(slope, low, high, recent[0][0], end, level)


def _filled(points: Sequence[Point], until_s: float | None) -> list[Point]:
    """Return points after the last long silence, with one for each minute in which nothing changed."""
    known: list[Point] = []
    for at, value in points:
        if known and at - known[-1][0] > SILENCE_S:
            known = []
        if known:
            _stand(known, at - STEP_S / 2)
        known.append((at, value))
    if known and until_s is not None and until_s - known[-1][0] <= SILENCE_S:
        _stand(known, until_s)
    return known


def _stand(known: list[Point], end: float) -> None:
    at, value = known[-1]
    while at + STEP_S <= end:
        at += STEP_S
        known.append((at, value))


def _interval(slopes: list[float], points: int) -> tuple[float, float]:
    spread = Z * math.sqrt(points * (points - 1) * (2 * points + 5) / 18)
    low = max(0, math.floor((len(slopes) - spread) / 2))
    high = min(len(slopes) - 1, math.ceil((len(slopes) + spread) / 2))
    return slopes[low], slopes[high]


def _last_break(points: list[Point]) -> int:
    """Return the index at which the last line begins."""
    begin = 0
    while len(points) - begin >= 2 * POINTS_MIN:
        found = _break(points[begin:])
        if found is None:
            break
        begin += found
    return begin


def _break(points: list[Point]) -> int | None:
    """Return where one line becomes two; None if one is enough."""
    count = len(points)
    at0, values = points[0][0], [value for _, value in points]
    spread = max(values) - min(values)
    if not spread:
        return None
    sums: list[Sums] = [(0.0, 0.0, 0.0, 0.0, 0.0)]
    for at, value in points:
        x, y = (at - at0) / STEP_S, (value - values[0]) / spread
        a, b, c, d, e = sums[-1]
        sums.append((a + x, b + y, c + x * x, d + x * y, e + y * y))
    # A sample is off by a little, so that a line without noise is no better than one with a little.
    least = 1e-4 * count
    whole = _deviation(sums, 0, count) + least
    splits = range(POINTS_MIN, count - POINTS_MIN + 1)
    both, split = min(((_deviation(sums, 0, k) + _deviation(sums, k, count) + least), k) for k in splits)
    return split if count * math.log(whole / both) > PENALTY * math.log(count) else None


def _deviation(sums: list[Sums], begin: int, end: int) -> float:
    """Return the sum of squared deviations from the best line through points [begin, end)."""
    n = end - begin
    # Called some hundred times for each queue: no loop over the five.
    x0, y0, xx0, xy0, yy0 = sums[begin]
    x, y, xx, xy, yy = sums[end]
    x, y, xx, xy, yy = x - x0, y - y0, xx - xx0, xy - xy0, yy - yy0
    spread = xx - x * x / n
    along = xy - x * y / n
    return max(0.0, yy - y * y / n - (along * along / spread if spread else 0.0))
