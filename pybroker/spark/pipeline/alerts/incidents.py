"""Incidents: which alerts are raised, since when, and which of them somebody is still to be told of.

An incident begins when a row meets a condition for as long as the rule says, and ends when no row did for
`clear_after`: one that comes and goes in between is told of once. Rows are told apart by their names, and by the
verdict. Pure: the state is a document, and time a number.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pybroker.spark.pipeline.alerts.rules import BAD, Alert
from pybroker.text import row_condition
from pybroker.verdicts import VERDICTS, words

# Columns that say what a row is about.
NAMES: Final = frozenset(
    {"node", "vhost", "queue", "resource", "measure", "scope", "name", "kind", "exchange", "routing_key", "conn_id"}
    | {"verdict"}
)
FIRING, RESOLVED = "firing", "resolved"
STALE: Final = "stale"
# Of more that nobody could be told of, the oldest are forgotten.
OUTBOX_MAX: Final = 10_000

State = dict[str, Any]


class Found(NamedTuple):
    """A row that meets a condition, in words: what it is about, and its figures."""

    labels: dict[str, str]
    summary: str
    figures: str
    after_s: int = 0

    @property
    def key(self) -> str:
        """Return what tells it from others, the same in every run."""
        return hashlib.sha256(json.dumps(self.labels, sort_keys=True).encode()).hexdigest()[:16]


def found(rule: Alert, columns: Sequence[Mapping[str, Any]], rows: Iterable[Sequence[Any]]) -> list[Found]:
    """Return the rows of a report that meet a rule. Raises ValueError: it has no such column."""
    names = [column["name"] for column in columns]
    if rule.when == BAD:
        column, _ = VERDICTS.get(rule.report, ("", ()))
        if column not in names:
            raise ValueError(f"the report {rule.report} has no verdicts: say when")
        at, bad = names.index(column), words(rule.report)
        matching = [row for row in rows if row[at] in bad]
    else:
        matching = [*filter(row_condition.condition(rule.when, names), rows)]
    shown = [n for n, column in enumerate(columns) if column["name"] not in NAMES and not column.get("detail")]
    told = []
    for row in matching:
        labels = {name: str(row[n]) for n, name in enumerate(names) if name in NAMES and row[n] not in {None, ""}}
        named = ", ".join(f"{name} {value}" for name, value in labels.items())
        figures = ", ".join(f"{names[n]} {row[n]}" for n in shown if row[n] not in {None, ""})
        why = "" if rule.when in {BAD, row_condition.ANY} else f" ({rule.when})"
        told.append(Found({"report": rule.report, **labels}, f"{rule.report}: {named}{why}", figures, rule.after_s))
    return told


def update(state: State, report: str, matching: Iterable[Found], now_s: float, clear_after_s: float) -> None:
    """Note what was found in a report just now: incidents begin, go on and end."""
    known: dict[str, dict[str, Any]] = state.setdefault("incidents", {})
    here = {each.key: each for each in matching}
    for key, each in here.items():
        incident = known.setdefault(key, {"report": report, "labels": each.labels, "since_s": now_s, "raised_s": None})
        incident |= {"summary": each.summary, "figures": each.figures, "seen_s": now_s}
        if incident["raised_s"] is None and now_s - incident["since_s"] >= each.after_s:
            incident["raised_s"] = now_s
            _tell(state, key, incident)
    for key, incident in [*known.items()]:
        if incident["report"] == report and key not in here:
            # If somebody set the clock back, it was not seen in the future.
            incident["seen_s"] = min(incident["seen_s"], now_s)
            if incident["raised_s"] is None:
                del known[key]
            elif now_s - incident["seen_s"] >= clear_after_s:
                end(state, key, now_s)


def end(state: State, key: str, now_s: float) -> None:
    """End an incident."""
    incident = state["incidents"].pop(key)
    if incident["raised_s"] is not None:
        _tell(state, key, incident | {"ended_s": now_s})


def _tell(state: State, key: str, incident: Mapping[str, Any]) -> None:
    outbox = state.setdefault("outbox", {})
    # An end says also when it began: it takes the place of a begin that was not told of.
    outbox[f"{key}@{incident['raised_s']}"] = {**incident, "key": key}
    for oldest in [*outbox][: max(0, len(outbox) - OUTBOX_MAX)]:
        del outbox[oldest]


def raised(state: State) -> list[dict[str, Any]]:
    """Return the incidents that last, by name."""
    lasting = [one for one in state.get("incidents", {}).values() if one["raised_s"] is not None]
    return sorted(lasting, key=lambda one: sorted(one["labels"].items()))
