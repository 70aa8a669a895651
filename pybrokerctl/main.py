"""pybrokerctl's entry: a command line becomes one call, its end an exit code.

Everything is loaded below `main`, so that Ctrl-C ends in an exit code from the first moment on; a command loads what it
needs and nothing else, for a call must cost less than a tenth of a second.
"""

import gc
import os
import sys
from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line; return the exit code. Answers go to stdout, errors to stderr."""
    given = list(sys.argv[1:] if words is None else words)
    _open_missing_streams()
    try:
        if words is None:
            # Of what is loaded nothing is garbage: looking for some costs 7 ms of 80, while loading and at exit.
            gc.disable()
        from pybrokerctl import run  # noqa: PLC0415 - see above

        if words is None:
            gc.freeze()
            gc.enable()
        return run.run(given)
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        return _pipe_closed()
    except OSError as error:
        return _not_written(error)


def _open_missing_streams() -> None:
    """Open /dev/null for each stream that the caller closed: Python has None in its place, and a socket its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - until the end


def _interrupted() -> int:
    # Drop unfinished output: Python would try to flush it at exit.
    try:
        sys.stdout.flush()
    except (OSError, KeyboardInterrupt):
        _drop_output()
    return 130


def _pipe_closed() -> int:
    _drop_output()
    return 141


def _not_written(error: OSError) -> int:
    """Say that the disk, or whatever the answer was written to, did not take it."""
    _drop_output()
    what = f"{error.filename}: " if error.filename else "cannot write the output: "
    try:
        sys.stderr.write(f"Error:\n{what}{error.strerror}\n")
    except OSError:
        return 74
    return 74


def _drop_output() -> None:
    """Let what is still in stdout's buffer go nowhere: Python complains once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
