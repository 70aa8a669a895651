"""Plots as SVG, drawn by hand: lines and bars over time, columns. Colours are the page's; a title tells on hover.

Octets are shown in MiB. Nothing here is scaled by the browser but the whole.
"""

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from pybrokerctl.reports.markup import escape

WIDTH: Final = 1_080
LINES_HEIGHT: Final = 300
LEFT, RIGHT, TOP, BOTTOM = 70, 16, 10, 28
ROW_HEIGHT: Final = 30
NAME_WIDTH: Final = 170
COLOURS: Final = 10
MIB: Final = 1 << 20
MINUTE_MS: Final = 60_000
# Between two marks of the time axis, in minutes.
STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 4_320, 10_080, 43_200)
MARKS_MAX: Final = 9
LEAST_MINUTES: Final = 5

Scale = Callable[[float], float]


def draw(plot: dict[str, Any], report: dict[str, Any]) -> str:
    """Return a plot of the report as SVG, with its legend."""
    match plot["kind"]:
        case "lines":
            return "".join(_lines(plot, report))
        case "bars":
            return "".join(_bars(plot, report))
        case "columns":
            return "".join(_columns(plot))
    return ""


def _lines(plot: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    per = MIB if plot["unit"] == "octets" else 1
    series = [[(at, value / per) for at, value in one["points"]] for one in plot["series"]]
    top, step = ceiling(max((value for points in series for _, value in points), default=1))
    x = _scale(*_window(report), LEFT, WIDTH - RIGHT)
    y = _scale(0, top, LINES_HEIGHT - BOTTOM, TOP)
    yield _svg(LINES_HEIGHT, plot["title"], "lines")
    for begin, end in plot.get("bands", ()):
        left = x(begin)
        yield (
            f'<rect class="band" x="{left:.1f}" y="{TOP}" width="{max(2, x(end) - left):.1f}" '
            f'height="{LINES_HEIGHT - TOP - BOTTOM}"><title>alarm, {_time(begin)} to {_time(end)}</title></rect>'
        )
    for n in range(round(top / step) + 1):
        at = y(n * step)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{short(n * step)}</text>'
    yield from _time_axis(x, report, LINES_HEIGHT - BOTTOM)
    colours = [*_colours(plot["series"])]
    for n, one, points in zip(colours, plot["series"], series, strict=True):
        path = "M" + "L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in points)
        kind = ' class="dashed"' if one.get("dashed") else ""
        yield f'<path{kind} style="stroke:var(--p{n % COLOURS})" d="{path}"><title>{escape(one["name"])}</title></path>'
    yield "</svg>"
    unit = {"octets": " (MiB)", "": ""}.get(plot["unit"], f" ({plot['unit']})")
    yield '<ul class="legend">'
    for n, one in zip(colours, plot["series"], strict=True):
        yield f'<li><i style="background:var(--p{n % COLOURS})"></i>{escape(one["name"])}{escape(unit)}</li>'
    if plot.get("bands"):
        yield '<li><i style="background:var(--bad);height:10px;opacity:.4"></i>alarm</li>'
    yield "</ul>"


def _colours(series: list[dict[str, Any]]) -> Iterator[int]:
    """Yield a colour for each line; a dashed one has that of the line before it, whose limit or expectation it is."""
    number = -1
    for n, one in enumerate(series):
        number += not (one.get("dashed") and n)
        yield number


def _bars(plot: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    rows = plot["rows"]
    bottom = TOP + ROW_HEIGHT * len(rows)
    x = _scale(*_window(report), NAME_WIDTH, WIDTH - RIGHT)
    reasons = sorted({bar[2] for row in rows for bar in row["bars"]})
    yield _svg(bottom + BOTTOM, plot["title"])
    yield from _time_axis(x, report, bottom)
    for n, row in enumerate(rows):
        at = TOP + ROW_HEIGHT * n
        name = row["name"] if len(row["name"]) < 26 else row["name"][:24] + "…"
        yield f'<text class="value" x="{NAME_WIDTH - 10}" y="{at + 19}" text-anchor="end">{escape(name)}</text>'
        yield f'<line class="grid" x1="{NAME_WIDTH}" x2="{WIDTH - RIGHT}" y1="{at + 15}" y2="{at + 15}"/>'
        for begin, end, reason in row["bars"]:
            left, colour = x(begin), reasons.index(reason) % COLOURS
            told = f"{row['name']}: {reason}, {_time(begin)}, {(end - begin) / 1000:,.1f} s"
            yield (
                f'<rect x="{left:.1f}" y="{at + 7}" width="{max(3, x(end) - left):.1f}" height="16" rx="3" '
                f'style="fill:var(--p{colour})"><title>{escape(told)}</title></rect>'
            )
    yield "</svg>"
    yield '<ul class="legend">'
    for n, reason in enumerate(reasons):
        yield f'<li><i style="background:var(--p{n % COLOURS});height:10px"></i>{escape(reason)}</li>'
    yield "</ul>"


def _columns(plot: dict[str, Any]) -> Iterator[str]:
    bars = plot["bars"]
    most = max(bar["value"] for bar in bars) or 1
    room = WIDTH - NAME_WIDTH - 170
    yield _svg(TOP + ROW_HEIGHT * len(bars) + 4, plot["title"])
    for n, bar in enumerate(bars):
        at = TOP + ROW_HEIGHT * n
        width = room * bar["value"] / most
        weight = ' font-weight="700"' if bar["marked"] else ""
        name = f"{bar['name']} ✓" if bar["marked"] else bar["name"]
        colour = "var(--p2)" if bar["marked"] else "var(--p0)"
        yield f'<text class="value" x="{NAME_WIDTH - 10}" y="{at + 19}" text-anchor="end"{weight}>{escape(name)}</text>'
        yield (
            f'<rect x="{NAME_WIDTH}" y="{at + 5}" width="{max(2, width):.1f}" height="20" rx="3" '
            f'style="fill:{colour}"/>'
        )
        told = f"{bar['value']:,.1f} {plot['unit']}, {bar['note']}" if bar["value"] else "never"
        yield f'<text x="{NAME_WIDTH + max(2, width) + 8:.1f}" y="{at + 19}">{escape(told)}</text>'
    yield "</svg>"


def _svg(height: int, title: str, kind: str = "bars") -> str:
    return f'<svg class="{kind}" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'


def _time_axis(x: Scale, report: dict[str, Any], at: int) -> Iterator[str]:
    begin, end = _window(report)
    step = next((s for s in STEPS if (end - begin) / MINUTE_MS / s <= MARKS_MAX), STEPS[-1]) * MINUTE_MS
    yield f'<line class="axis" x1="{x(begin):.1f}" x2="{x(end):.1f}" y1="{at}" y2="{at}"/>'
    form = "%H:%M" if end - begin <= 36 * 60 * MINUTE_MS else "%d %b %H:%M" if step < 1_440 * MINUTE_MS else "%d %b"
    for mark in range(math.ceil(begin / step) * step, int(end) + 1, step):
        label = datetime.fromtimestamp(mark / 1000, UTC).strftime(form)
        # On a narrow screen there is room for every other one.
        kind = "" if (mark // step) % 2 == 0 else ' class="fine"'
        yield f'<line class="axis" x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{at}" y2="{at + 5}"/>'
        yield f'<text{kind} x="{x(mark):.1f}" y="{at + 20}" text-anchor="middle">{label}</text>'


def _window(report: dict[str, Any]) -> tuple[float, float]:
    """Return begin and end of the time axis, in ms: what the telemetry covers of the window, five minutes at least."""
    since, until = report.get("seen_from") or report["since"], report.get("seen_until") or report["until"]
    begin, end = (datetime.fromisoformat(each).replace(tzinfo=UTC).timestamp() * 1000 for each in (since, until))
    return min(begin, end - LEAST_MINUTES * MINUTE_MS), end


def _scale(low: float, high: float, start: float, stop: float) -> Scale:
    """Return a function that maps low to start and high to stop; values beyond go to the nearer end."""
    each = (stop - start) / ((high - low) or 1)
    return lambda value: start + (min(max(value, low), high) - low) * each


def _time(ms: float) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def ceiling(most: float) -> tuple[float, float]:
    """Return the top of an axis and the step between its lines, both round, so that there are four to six."""
    most = most or 1
    rough = most / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(n * power for n in (1, 2, 2.5, 5, 10) if n * power >= rough)
    return math.ceil(round(most / step, 9)) * step, step


def short(value: float) -> str:
    """Return a number as short as an axis wants it: 1.5k, 20M."""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= factor:
            return f"{value / (1_000 if letter == 'k' else factor):g}{letter}"
    return f"{value:g}"
