"""A report as one HTML page that needs nothing else: no script, no font, no file; in the reader's light or dark."""

from collections.abc import Iterator
from typing import Any, Final

from pybrokerctl.render import cell
from pybrokerctl.reports import plots
from pybrokerctl.reports.markup import escape

TITLES: Final = {
    "backlog": "Backlog: growing queues and their consumers",
    "blocked": "Blocked: blocked and throttled connections, with durations and causes",
    "alarms": "Alarms: shortages of memory and disk space",
    "capacity": "Capacity: recommended limits",
    "unroutable": "Unroutable: unroutable and dead-lettered messages",
    "consumers": "Consumers: missing, idle, or failing",
    "forecast": "Forecast: when limits will be reached",
    "accounting": "Accounting: what virtual hosts, users and publishers use",
    "slo": "Service levels: ages of messages, compared with targets",
    "trends": "Trends: lag, rejects and dead letters, compared with former weeks",
}
# These are octets: people read MiB.
OCTETS: Final = frozenset({"used", "limit", "worst"})
# In a row about one of these resources, figures of these columns are octets, too.
OF_OCTETS: Final = frozenset({"memory", "disk", "octets"})
BY_RESOURCE: Final = frozenset(
    {"current", "bound", "slope_per_h", "slope_low", "slope_high", "in_a_day", "in_a_day_low", "in_a_day_high"}
)
MILLISECONDS: Final = "_ms"
LONG: Final = 60
SHORT: Final = 20
SECONDS: Final = "_s"

STYLE: Final = """
:root { color-scheme: light dark;
  --page: #f7f7f5; --card: #ffffff; --ink: #1d2126; --soft: #667079; --line: #dfe2e4; --accent: #0b62a8;
  --bad: #b3261e; --bad-wash: #fbe9e7; --good: #1b6e3c;
  --p0: #0b62a8; --p1: #c2570c; --p2: #1b7f4b; --p3: #8a3ab9; --p4: #a8324a; --p5: #00798c; --p6: #7a6a00;
  --p7: #5a5f9e; --p8: #b0427d; --p9: #4b6b2f; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171a; --card: #1c2024; --ink: #e6e8ea; --soft: #97a1aa; --line: #30363c; --accent: #6cb6f5;
  --bad: #ff8f85; --bad-wash: #3a2020; --good: #7bd49b;
  --p0: #6cb6f5; --p1: #f4a261; --p2: #6fd3a0; --p3: #cf9bf0; --p4: #f28ba0; --p5: #5fd0df; --p6: #d9c94f;
  --p7: #a5abf0; --p8: #f09cc8; --p9: #a9cf82; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.45;
  font: 15px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; } h2 { font-size: 16px; margin: 0 0 10px; }
.when { color: var(--soft); margin: 0 0 22px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; margin: 0 0 18px; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: 12px 16px; display: flex; flex-direction: column-reverse; justify-content: flex-end; }
.tile dt { color: var(--soft); font-size: 13px; } .tile dd { margin: 0; font-size: 22px; font-weight: 600; }
.tile dd.long { font-size: 14px; }
section { padding: 16px 18px; margin: 0 0 18px; }
ul { margin: 0; padding-left: 20px; } li { margin: 4px 0; overflow-wrap: anywhere; }
figure { margin: 0; } svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--soft); font: 12px system-ui, "Segoe UI", Roboto, Arial, sans-serif; }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .band { fill: var(--bad); opacity: .16; } svg .value { fill: var(--ink); }
svg path { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .dashed { stroke-dasharray: 6 5; stroke-width: 1.5; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 10px 0 0; padding: 0; list-style: none;
  color: var(--soft); font-size: 13px; }
.legend i { display: inline-block; width: 12px; height: 3px; border-radius: 2px; margin-right: 6px;
  vertical-align: middle; }
#all { margin: 0 6px 12px 0; accent-color: var(--accent); } label { color: var(--soft); font-size: 13px; }
.detail { display: none; } #all:checked ~ .scroll .detail { display: table-cell; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--line); cursor: help; }
th, td { padding: 6px 9px; overflow-wrap: break-word; }
th { vertical-align: bottom; } td { border-bottom: 1px solid var(--line); }
td.long { min-width: 220px; } tr:last-child td { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); } .none { color: var(--soft); }
tr.chosen td { background: var(--bad-wash); background: color-mix(in srgb, var(--accent) 12%, transparent); }
.warning { border-left: 4px solid var(--bad); background: var(--bad-wash); padding: 8px 12px; border-radius: 4px;
  margin: 0 0 12px; overflow-wrap: anywhere; }
@media (max-width: 640px) { main { padding: 16px 10px 40px; } h1 { font-size: 20px; } .tile dd { font-size: 17px; }
  .tiles { grid-template-columns: repeat(2, 1fr); gap: 8px; } .tile { padding: 9px 11px; } section { padding: 12px; }
  svg.lines text { font-size: 30px; } svg.lines .fine { display: none; } svg.lines path { stroke-width: 4; }
  figure:not(:has(svg.lines)) { overflow-x: auto; } svg:not(.lines) { min-width: 600px; }
  thead { display: none; } table, tbody { display: block; }
  tbody tr { display: grid; grid-template-columns: 1fr 1fr; gap: 2px 14px; padding: 9px 0;
    border-bottom: 1px solid var(--line); }
  td, #all:checked ~ .scroll .detail { display: flex; justify-content: space-between; gap: 10px; padding: 1px 0;
    border: 0; text-align: right; overflow-wrap: anywhere; }
  td.detail { display: none; } td.long { grid-column: 1 / -1; min-width: 0; }
  td::before { content: attr(data-name); flex: none; max-width: 60%; overflow-wrap: normal;
    color: var(--soft); text-align: left; font-weight: 400; } }
code { font: 13px ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
"""


def page(report: dict[str, Any]) -> Iterator[str]:
    """Yield the page."""
    name = report["report"]
    title = TITLES.get(name, name)
    yield "<!doctype html>\n"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
    yield f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
    yield f"<body><main><h1>{escape(title)}</h1>\n"
    yield f'<p class="when">{report["since"]} to {report["until"]}, created at {report["made_at"]} (UTC)</p>\n'
    for line in report.get("incomplete", ()):
        yield f'<p class="warning">Telemetry incomplete: {escape(line)}</p>\n'
    yield from _tiles(report["summary"])
    if report["advice"]:
        items = "".join(f"<li>{_commands(line)}</li>\n" for line in report["advice"])
        yield f"<section><h2>Findings</h2><ul>\n{items}</ul></section>\n"
    for plot in report["plots"]:
        yield f"<section><figure><h2>{escape(plot['title'])}</h2>{plots.draw(plot, report)}</figure></section>\n"
    yield from _table(report)
    yield "</main></body></html>\n"


def _tiles(summary: list[list[Any]]) -> Iterator[str]:
    yield '<dl class="tiles">\n'
    for label, value in summary:
        kinds = ["long"] if isinstance(value, str) and len(value) > SHORT else []
        yield f'<div class="tile"><dt>{escape(label)}</dt><dd{_class(kinds)}>{_value("", value)}</dd></div>\n'
    yield "</dl>\n"


def _table(report: dict[str, Any]) -> Iterator[str]:
    columns, rows = report["columns"], report["rows"]
    if not rows:
        yield "<section><p>Nothing to report.</p></section>\n"
        return
    numbers = [any(_is_number(row[n]) for row in rows) for n in range(len(columns))]
    marked = next((n for n, column in enumerate(columns) if column["name"] == "recommended"), None)
    resource = next((n for n, column in enumerate(columns) if column["name"] == "resource"), None)
    details = sum(bool(column.get("detail")) for column in columns)
    yield "<section>"
    if details:
        more = f"{details} more column{'s' * (details != 1)}"
        yield f'<input type="checkbox" id="all"><label for="all">Show {more}</label>\n'
    yield '<div class="scroll" tabindex="0"><table><thead><tr>'
    for column, number in zip(columns, numbers, strict=True):
        kinds = ["number"] * number + ["detail"] * bool(column.get("detail"))
        yield f'<th title="{escape(column["help"])}"{_class(kinds)}>{escape(_label(column["name"]))}</th>'
    yield "</tr></thead><tbody>\n"
    for row in rows:
        yield '<tr class="chosen">' if marked is not None and row[marked] else "<tr>"
        in_octets = resource is not None and row[resource] in OF_OCTETS
        for column, number, value in zip(columns, numbers, row, strict=True):
            yield _cell(column, value, number=number, in_octets=in_octets and column["name"] in BY_RESOURCE)
        yield "</tr>\n"
    yield "</tbody></table></div>\n"
    if report["rows_left_out"]:
        yield f"<p>Rows omitted: {report['rows_left_out']}; the tables contain them.</p>\n"
    yield "</section>\n"


def _class(kinds: list[str]) -> str:
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _label(name: str) -> str:
    if _is_octets(name):
        return f"{name}, MiB".replace("_", " ")
    if name.endswith(MILLISECONDS):
        return f"{name.removesuffix(MILLISECONDS)}, s".replace("_", " ")
    if name.endswith(SECONDS):
        return name.removesuffix(SECONDS).replace("_", " ")
    return name.replace("_", " ")


def _cell(column: dict[str, Any], value: Any, *, number: bool, in_octets: bool) -> str:
    kinds = ["number"] * number + ["detail"] * bool(column.get("detail"))
    kinds += [kind for kind in ("bad", "good") if value in column.get(kind, ())]
    if isinstance(value, str) and len(value) > LONG:
        kinds.append("long")
    # On a narrow screen a row is a card, and each value has its name beside it.
    text = f"{value / (1 << 20):,.1f} MiB" if in_octets and _is_number(value) else _value(column["name"], value)
    return f'<td{_class(kinds)} data-name="{escape(_label(column["name"]))}">{text}</td>'


def _value(name: str, value: Any) -> str:
    if value is None or value == "":
        return '<span class="none">&mdash;</span>'
    if isinstance(value, bool):
        return "yes" if value else '<span class="none">no</span>'
    if _is_number(value):
        if _is_octets(name):
            return f"{value / (1 << 20):,.1f}"
        if name.endswith(MILLISECONDS):
            return f"{value / 1000:,.1f}"
        if name.endswith(SECONDS):
            return _lasting(value)
        return f"{value:,.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
    if name == "command":
        return f"<code>{escape(str(value))}</code>"
    return escape(cell.cell(value))


def _lasting(seconds: float) -> str:
    """Return `0.4 s`, `7 min 36 s`, `2 h 5 min` or `3 d 4 h`."""
    whole = round(seconds)
    for unit, length, below, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= length:
            rest = whole % length // part
            return f"{whole // length} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{seconds:,.1f} s".replace(".0 s", " s")


def _commands(line: str) -> str:
    """Return a line of advice with the command in it set apart."""
    text = escape(line)
    start = text.find("pybrokerctl ")
    if start < 0:
        return text
    end = min((at for at in (text.find(" (", start), text.find(";", start)) if at >= 0), default=len(text))
    return f"{text[:start]}<code>{text[start:end]}</code>{text[end:]}"


def _is_octets(name: str) -> bool:
    return name in OCTETS or "octets" in name.split("_")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
