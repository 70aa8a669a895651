"""Exit codes of pybrokerctl: rabbitmqctl's use of sysexits.h, and the shell's own codes for a signal."""

from typing import Final

from pybroker.control.spec import EX_DATAERR, EX_NOUSER, EX_SOFTWARE, EX_TEMPFAIL, EX_UNAVAILABLE, EX_USAGE

OK: Final = 0
DECLINED: Final = 1
CHANGES: Final = 1  # of definitions plan: as of diff
USAGE: Final = EX_USAGE  # an unknown command, option or column; too few or too many arguments
DATAERR: Final = EX_DATAERR  # an unknown name, a value that cannot be
STALE: Final = 66  # EX_NOINPUT: a report that is too old to be a check
NOUSER: Final = EX_NOUSER  # an unknown user
UNAVAILABLE: Final = EX_UNAVAILABLE  # no answer from the node, a refusal by it, a failed health check
SOFTWARE: Final = EX_SOFTWARE  # a fault of ours; a user that exists already; ping or status timed out
IOERR: Final = 74  # the answer could not be written
TEMPFAIL: Final = EX_TEMPFAIL  # timed out
INTERRUPTED: Final = 130  # 128 + SIGINT
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE: what `| head` gives every other tool

MEANINGS: Final = {
    OK: "Success.",
    DECLINED: "Not done: the confirmation prompt was not answered with yes. For definitions plan: there are "
    "changes. For a report: a row matches --fail-on.",
    USAGE: "Usage error: an unknown command, option, column or formatter; too few or too many arguments; a "
    "queue that is in use or not empty; a command that requires the app to be stopped while it is "
    "running, or vice versa.",
    DATAERR: "A name does not exist, or a value is invalid. For definitions plan: there is a conflict.",
    STALE: "The report, or the newest telemetry in it, is older than --max-age.",
    NOUSER: "The user does not exist.",
    UNAVAILABLE: "No node responds, or it refuses the command, as rabbitmqctl says also of a policy, a parameter or "
    "limits that are invalid; or a health check fails. For the pipeline: Java, Spark, memory or a report is missing.",
    SOFTWARE: "The user exists already; ping or status timed out; an internal error of the daemon.",
    IOERR: "The output could not be written, for example to a full disk; the command may have been executed. "
    "For the pipeline: alerts reached nobody.",
    TEMPFAIL: "Timed out. For the pipeline: it is already running.",
    INTERRUPTED: "Interrupted (Ctrl-C).",
    PIPE_CLOSED: "The reader of the output closed the pipe.",
}
