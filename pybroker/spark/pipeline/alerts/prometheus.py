"""Alerts as text for Prometheus, which node_exporter's textfile collector reads."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pybroker.spark.pipeline.alerts import incidents


def text(state: Mapping[str, Any]) -> str:
    """Return the metrics of the state, in the exposition format."""
    return "".join(f"{line}\n" for line in _lines(dict(state)))


def _lines(state: dict[str, Any]) -> Iterator[str]:
    reports = sorted(state.get("reports", {}).items())
    yield from _head("pybroker_alert", "Alert that is raised.")
    for one in incidents.raised(state):
        yield f"pybroker_alert{_labels(one['labels'])} 1"
    for name, key, told in (
        ("pybroker_report_findings", "findings", "Rows of a report that meet a condition of an alert."),
        ("pybroker_report_made_timestamp_seconds", "made_s", "Time at which a report was made."),
        ("pybroker_report_known_timestamp_seconds", "known_s", "Time of the newest telemetry that a report knows of."),
    ):
        yield from _head(name, told)
        for report, facts in reports:
            if facts[key] is not None:
                yield f"{name}{_labels({'report': report})} {facts[key]}"
    yield from _head("pybroker_alerts_undelivered", "Alerts that the webhook did not accept yet.")
    yield f"pybroker_alerts_undelivered {len(state.get('outbox', ()))}"


def _head(name: str, told: str) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} gauge"


def _labels(labels: Mapping[str, str]) -> str:
    def escaped(value: str) -> str:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in sorted(labels.items())) + "}"


def write(path: Path, state: Mapping[str, Any]) -> None:
    """Replace the file, whole. Raises OSError."""
    # The collector reads all that ends in .prom.
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(text(state), encoding="utf-8")
        new.chmod(0o644)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
