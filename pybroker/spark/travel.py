"""The source on its way to a process that may not find pybroker.

Spark plans a streaming query in a Python process of its own, which looks for what --py-files or addArtifacts brought in
a folder where Spark has not put it. On the same machine it is still where the process before had it from.
"""

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pybroker


def travelling(options: MutableMapping[str, str]) -> tuple[Any, ...]:
    """Return how a source of these options is made anew, for `__reduce__`."""
    return _arrive, (str(Path(pybroker.__file__).parent.parent), options)


def _arrive(place: str, options: MutableMapping[str, str]) -> Any:
    try:
        from pybroker.spark.source import PybrokerSource  # noqa: PLC0415 - not where this is written
    except ModuleNotFoundError:
        import sys  # noqa: PLC0415 - this function travels alone

        sys.path.append(place)
        from pybroker.spark.source import PybrokerSource  # noqa: PLC0415
    return PybrokerSource(options)


# Spark's pickle takes the code of such functions along, and of all others the name alone.
_arrive.__module__ = "__main__"
