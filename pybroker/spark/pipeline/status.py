"""status: the results of the last runs, the tables, and how far they are behind. Needs no Spark."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pybroker.spark.pipeline.files import waiting
from pybroker.spark.pipeline.jobs import JOBS
from pybroker.spark.pipeline.jobs.limit_advice import mib
from pybroker.spark.pipeline.run import iso
from pybroker.spark.pipeline.schemas import TABLES
from pybroker.spark.pipeline.tables import Warehouse


def status(folder: Path, journal: Path, now: datetime) -> dict[str, Any]:
    """Return the document."""
    warehouse = Warehouse(folder, now)
    state = warehouse.state()
    jobs = {name: state.get("jobs", {}).get(name) for name in JOBS}
    tables: dict[str, dict[str, Any]] = {}
    for name in TABLES:
        dates = warehouse.dates(name)
        octets = sum(path.stat().st_size for path in (folder / name).rglob("*.parquet")) if dates else 0
        if dates:
            tables[name] = {"dates": len(dates), "from": str(dates[0]), "to": str(dates[-1]), "octets": octets}
    files = {name: len(found.parts) for name, found in waiting(journal, state).items()}
    lag_s = _lag_s(state, journal)
    lines = [f"Warehouse: {folder}", f"Telemetry: {journal}"]
    if any(jobs.values()):
        lines += [f"{name}: {_told(job)}" for name, job in jobs.items()]
    else:
        lines.append("No job has run; run 'pybrokerctl pipeline run all'")
    for name, t in tables.items():
        span = f"1 date, {t['from']}" if t["dates"] == 1 else f"{t['dates']} dates, {t['from']} to {t['to']}"
        lines.append(f"{name}: {span}, {mib(t['octets'])}")
    lines.append(f"Files waiting: {sum(files.values())}" + (f", behind by {lag_s} s" if lag_s else ""))
    facts = {"warehouse": str(folder), "telemetry": str(journal), "jobs": jobs, "tables": tables}
    return {**facts, "files_waiting": files, "lag_s": lag_s, "message": "\n".join(lines)}


def _told(job: dict[str, Any] | None) -> str:
    if job is None:
        return "never run"
    if "failed" in job:
        return f"failed at {job['at']}: {job['failed']}"
    figures = ", ".join(f"{name} {n}" for name, n in job["figures"].items())
    return f"at {job['at']}, {job['seconds']} s" + (f": {figures}" if figures else "")


def _lag_s(state: dict[str, Any], journal: Path) -> int | None:
    """Return how much newer the newest telemetry is than the last run that read it; None if it was never read."""
    job = state.get("jobs", {}).get("ingest")
    newest = 0.0
    for path in journal.glob("*/*.ndjson*"):
        with contextlib.suppress(OSError):
            newest = max(newest, path.stat().st_mtime)
    if not job or "failed" in job or not newest:
        return None
    at = datetime.fromisoformat(job["at"]).replace(tzinfo=UTC)
    assert iso(at) == job["at"]
    return max(0, int(newest - at.timestamp()))
