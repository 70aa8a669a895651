"""A process that has Spark, and pybroker only where the process before had it: in the archive of --py-files."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")
pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")

from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict

import pybroker
from pybroker.spark.pipeline import package
from pybroker.spark.source import PybrokerSource

ARRIVE = """
import sys
from pyspark import cloudpickle
source = cloudpickle.loads(sys.stdin.buffer.read())
print(sys.modules["pybroker"].__file__, source.schema().names[0], source.options["Queue"])
"""


def test_a_source_arrives_where_pybroker_is_not_found(tmp_path, monkeypatch):
    packed = package.make(tmp_path / "pybroker_spark.zip")["package"]
    for name in ("pyspark", "py4j", "pyarrow"):
        (tmp_path / name).symlink_to(Path(importlib.util.find_spec(name).origin).parent)
    inside = f"{packed}/pybroker/__init__.py"
    monkeypatch.setattr(pybroker, "__file__", inside)
    octets = cloudpickle.dumps(PybrokerSource(CaseInsensitiveDict(queue="q")))
    environ = {"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-S", "-c", ARRIVE]
    done = subprocess.run(command, input=octets, capture_output=True, env=environ, cwd="/", timeout=60, check=False)
    assert done.stdout.decode().split() == [inside, "value", "q"], done.stderr.decode()


def test_a_source_is_what_it_was_where_pybroker_is_found():
    source = cloudpickle.loads(cloudpickle.dumps(PybrokerSource({"queue": "q"})))
    assert type(source) is PybrokerSource
    assert dict(source.options) == {"queue": "q"}
