"""Alerts as text for Prometheus, which node_exporter's textfile collector reads."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pybroker.spark.pipeline.alerts import incidents
from pybroker.text.exposition import labels, series


def text(state: Mapping[str, Any]) -> str:
    """Return the metrics of the state, in the exposition format."""
    return "".join(_series(dict(state)))


def _series(state: dict[str, Any]) -> Iterator[str]:
    raised = [(labels(**dict(sorted(one["labels"].items()))), 1) for one in incidents.raised(state)]
    yield series("pybroker_alert", "gauge", "Alert that is raised.", raised)
    reports = sorted(state.get("reports", {}).items())
    for name, key, told in (
        ("pybroker_report_findings", "findings", "Rows of a report that meet a condition of an alert."),
        ("pybroker_report_made_timestamp_seconds", "made_s", "Time at which a report was made."),
        ("pybroker_report_known_timestamp_seconds", "known_s", "Time of the newest telemetry that a report knows of."),
    ):
        yield series(name, "gauge", told, [(labels(report=report), facts[key]) for report, facts in reports])
    told = "Alerts that the webhook did not accept yet."
    yield series("pybroker_alerts_undelivered", "gauge", told, [("", len(state.get("outbox", ())))])


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
