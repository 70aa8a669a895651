"""The commands of the pipeline: its program is started and its answer shown; reports that it made are read and shown.

The program is a process of its own, because Spark takes seconds and half a gigabyte that nobody else should pay. Its
messages go to standard error directly. A report is a file: showing it starts nothing.
"""

import ctypes
import json
import signal
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from pybroker.control.spec import Node, Refused
from pybrokerctl import exit_codes, paths, render, reports

if TYPE_CHECKING:
    from pybrokerctl.call import Call

PROGRAM: Final = "pybroker.spark.pipeline"
# prctl(2).
PR_SET_PDEATHSIG: Final = 1


def perform(call: "Call", args: Any) -> int:
    """Do what the command means; return the exit code. Raises Refused, BadArguments."""
    args, note = paths.fill(args, call.options)
    if note and call.options.talks:
        sys.stderr.write(f"note: {note}\n")
    # These commands run here: they say what is to be done.
    asked: Any = call.command.run(cast("Node", None), args)
    if call.command.offline == "results":
        return _report(call, args, asked)
    words = list(asked["words"])
    if call.options.dry_run:
        if call.command.name != "pipeline_run":
            sys.stdout.write(f"{call.command.summary}: {' '.join(words)}\n")
            return exit_codes.OK
        words.append("--dry-run")
    document = run(words, quiet=call.options.quiet)
    formatter = render.load(call.options.formatter)
    for text in formatter.value(document if call.options.formatter == "json" else document["message"], ""):
        sys.stdout.write(text)
    return int(document.get("exit_code", exit_codes.OK))


def run(words: list[str], *, quiet: bool) -> dict[str, Any]:
    """Run the program; return its answer. Raises Refused with what it says was wrong.

    It ends when this process does, however that ends: `follow` would go on, and hold the warehouse, for ever.
    """
    # Its log goes elsewhere, and a package has nothing to be quiet about.
    more = ["--quiet"] if quiet and words[0] != "package" else []
    command = [sys.executable, "-m", PROGRAM, "--tell", *words, *more]
    # Looked up here: little is safe between fork and exec.
    end_with_parent = partial(ctypes.CDLL(None).prctl, PR_SET_PDEATHSIG, signal.SIGTERM)
    done = subprocess.run(  # noqa: S603 - ours
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
        preexec_fn=end_with_parent,
    )
    try:
        document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise Refused(f"the pipeline exited with code {done.returncode} and no result", exit_codes.SOFTWARE) from None
    if document.get("result") == "error" and "checks" not in document:
        raise Refused(document["message"], document["exit_code"])
    return document


def _report(call: "Call", args: Any, asked: dict[str, Any]) -> int:
    """Show a report, made anew if wanted; return 1 if it says what it was to fail on. Raises Refused if it is old."""
    fails, name = reports.condition(args.fail_on), asked["report"]
    refuse_old = reports.too_old(args.max_age or (reports.MAX_AGE if args.fail_on else None))
    if call.options.dry_run:
        sys.stdout.write(f"{call.command.summary}, from {reports.place(args.warehouse, name)}\n")
        return exit_codes.OK
    if args.fresh:
        run(asked["words"], quiet=call.options.quiet)
    report = reports.read(args.warehouse, name)
    failed = fails(report)  # a column that it lacks is told before all else
    for text in reports.show(report, args.format or call.options.formatter, call.options, details=args.details):
        sys.stdout.write(text)
    # An old report says nothing of now, whatever it found.
    refuse_old(report)
    return exit_codes.DECLINED if failed else exit_codes.OK
