"""Spark looks for top-level modules pyspark_* in the folders of sys.path, and nowhere else."""

import importlib
import importlib.metadata
import pkgutil

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")


def test_spark_finds_the_source_where_pybroker_is_installed_also_editable():
    if not any(each.name == "pyspark_pybroker" for each in pkgutil.iter_modules()):
        try:
            importlib.metadata.version("pybroker")
        except importlib.metadata.PackageNotFoundError:
            pytest.skip("run from the sources, not installed")
        raise AssertionError("pybroker is installed, and Spark does not find pyspark_pybroker: install it again")
    from pybroker.spark import discovery
    from pybroker.spark.source import PybrokerSource

    found = importlib.import_module("pyspark_pybroker")
    assert found.DefaultSource is discovery.DefaultSource is PybrokerSource
    assert PybrokerSource.name() == "pybroker"
