"""package: the connector and the pipeline as one zip, for `spark-submit --py-files`, with the driver to submit.

pybrokerctl pipeline package -o pybroker_spark.zip
spark-submit --py-files pybroker_spark.zip run_job.py run all --warehouse /lake/pybroker
"""

import zipfile
from pathlib import Path
from typing import Any, Final

import pybroker

DRIVER: Final = "run_job.py"
DRIVER_TEXT: Final = '''"""Runs the pipeline where spark-submit was told to; the words are those of the program."""

import sys

from pybroker.spark.pipeline.program import main

sys.exit(main())
'''
# Of ours, what the connector and the pipeline load; no daemon.
PARTS: Final = ("__init__.py", "version.py", "paths.py", "spark", "client", "wire", "errors.py", "run.py", "stretch.py")
PARTS_TOO: Final = ("message.py", "clock.py", "session.py")
# By which Spark finds the connector.
DISCOVERY: Final = ("spark/discovery.py", "pyspark_pybroker.py")
# Always the same octets for the same sources.
DATE: Final = (1980, 1, 1, 0, 0, 0)


def make(output: Path) -> dict[str, Any]:
    """Write the zip and the driver beside it."""
    root = Path(pybroker.__file__).parent
    files: dict[str, bytes] = {}
    for part in (*PARTS, *PARTS_TOO):
        path = root / part
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        files |= {f"pybroker/{each.relative_to(root)}": each.read_bytes() for each in found}
    discovery = root / DISCOVERY[0]
    if discovery.exists():
        files[DISCOVERY[1]] = discovery.read_bytes()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, octets in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, DATE), octets, zipfile.ZIP_DEFLATED)
    driver = output.with_name(DRIVER)
    driver.write_text(DRIVER_TEXT, encoding="utf-8")
    message = f"spark-submit --py-files {output} {driver} run all --warehouse DIR --telemetry DIR"
    return {"result": "ok", "package": str(output), "driver": str(driver), "files": len(files), "message": message}
