"""Run command lines, one process each, forked from this one, which has loaded pybrokerctl: most of a call is its start.

    python forking.py FORMATTER FOLDER < LINES

Each line's answer goes into a file of FOLDER by the name of its command. As under `set -e`, the first line that fails
ends it, with that line's exit code. $NAMES are replaced from the environment.
"""

import gc
import os
import shlex
import sys
from pathlib import Path

from pybroker.control import commands
from pybrokerctl import call, help, local, run  # noqa: A004, F401 - what each call would load
from pybrokerctl.main import main
from pybrokerctl.render import csv, json, pretty_table, table  # noqa: F401


def perform(words: list[str], answer: Path) -> int:
    """Run one command line with its answer in a file; return the exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.dup2(os.open(answer, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    code = main(words)
    sys.stdout.flush()
    # To end in order is to let go of every module: of all that a call costs, half.
    os._exit(code)


if __name__ == "__main__":
    for name in commands.NAMES:
        commands.load(name)
    gc.freeze()
    formatter, folder = sys.argv[1:]
    for line in sys.stdin:
        words = shlex.split(os.path.expandvars(line))
        code = perform(["--formatter", formatter, *words], Path(folder) / words[0])
        if code:
            sys.exit(code)
