"""What pybrokerctl ends with: rabbitmqctl's use of sysexits.h, and the shell's own codes for a signal."""

from typing import Final

from pybroker.control.spec import EX_DATAERR, EX_NOUSER, EX_SOFTWARE, EX_TEMPFAIL, EX_UNAVAILABLE, EX_USAGE

OK: Final = 0
DECLINED: Final = 1
CHANGES: Final = 1  # of definitions plan: as of diff
USAGE: Final = EX_USAGE  # an unknown command, option or column; too few or too many arguments
DATAERR: Final = EX_DATAERR  # an unknown name, a value that cannot be
NOUSER: Final = EX_NOUSER  # an unknown user
UNAVAILABLE: Final = EX_UNAVAILABLE  # no answer from the node, or a refusal by it
SOFTWARE: Final = EX_SOFTWARE  # a fault of ours; a user that exists already; ping or status timed out
IOERR: Final = 74  # the answer could not be written
TEMPFAIL: Final = EX_TEMPFAIL  # timed out
INTERRUPTED: Final = 130  # 128 + SIGINT
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE: what `| head` gives every other tool

MEANINGS: Final = {
    OK: "Success.",
    DECLINED: "Not done: asked at a terminal whether it was meant, you did not say yes. Of definitions plan: there is "
    "something to do. Of a report: what --fail-on names is so.",
    USAGE: "Wrong usage: an unknown command, option, column or formatter, too few or too many arguments; a queue "
    "that is in use or not empty; a command that wants the app stopped while it runs, or the other way round.",
    DATAERR: "A name that does not exist, or a value that cannot be; of definitions plan: something is in conflict.",
    NOUSER: "A user that does not exist.",
    UNAVAILABLE: "No node answers, or it refuses; of the pipeline: Java, Spark or memory is missing, or a report.",
    SOFTWARE: "A user that exists already; ping and status timed out; a fault in the daemon.",
    IOERR: "The answer could not be written, say to a full disk; whatever was asked for may have been done.",
    TEMPFAIL: "Timed out; the pipeline runs already.",
    INTERRUPTED: "Interrupted (Ctrl-C).",
    PIPE_CLOSED: "The reader of the output went away.",
}
