"""A home for Spark without the archive of its own sources: `export SPARK_HOME=$(python -m pybroker.spark.spark_home)`.

Spark's Python processes import pyspark from SPARK_HOME/python/lib/pyspark.zip, where nothing is compiled: each takes a
second of CPU for that, and each streaming query starts one. With a home that lacks the archive they import the
installed package, which is compiled.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PROGRAM: Final = "pybroker.spark.spark_home"
LINKED: Final = ("bin", "conf", "jars", "sbin")


def make(home: Path, folder: Path) -> Path:
    """Link Spark's programs into the folder, without its Python sources; return the folder. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in LINKED:
        if (home / name).is_dir():
            new = folder / f".{name}.{os.getpid()}"
            new.symlink_to(home / name)
            new.replace(folder / name)
    return folder


def main() -> int:
    """Print the folder; return the exit code."""
    import platformdirs  # noqa: PLC0415 - only here

    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        sys.stderr.write(f"{PROGRAM}: there is no pyspark here: pip install 'pybroker[spark]'\n")
        return 69
    folder = Path(platformdirs.user_cache_path("pybroker", appauthor=False)) / "spark-home"
    sys.stdout.write(f"{make(Path(spec.origin).parent, folder)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
