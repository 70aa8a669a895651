"""Installed as the top-level module `pyspark_pybroker`: by that name Spark finds `format("pybroker")`.

Spark imports every module named pyspark_* that lies in a folder, or an archive, of sys.path, and registers the class
`DefaultSource` of each: no configuration, no `spark.dataSource.register`.
"""

from pybroker.spark.source import PybrokerSource as DefaultSource

__all__ = ["DefaultSource"]
