"""pybrokerctl(1) in roff, made of the same specifications as `--help`, so that the two cannot differ.

`pybrokerctl --man-page > man/pybrokerctl.1` writes it; a test compares.
"""

from collections.abc import Iterator

from pybroker.control import commands
from pybroker.control.spec import Command
from pybrokerctl import exit_codes, usage
from pybrokerctl.command_line import LOCAL_NAMES, find

HEAD = r""".\" Made by `pybrokerctl --man-page`; change the specifications, not this file.
.TH PYBROKERCTL 1 "" "pybroker" "User Commands"
.SH NAME
pybrokerctl \- operate a pybroker node
.SH SYNOPSIS
.B pybrokerctl
.RI [ options ]
.I command
.RI [ arguments ]
.br
.B pybrokerctl help
.RI [ command ]
.SH DESCRIPTION
.B pybrokerctl
asks a running
.BR pybroker (8)
over its control socket and prints the answer. Its commands, options, columns and exit codes are those of rabbitmqctl,
so that scripts written for that one go on with the name changed.
.PP
Without options it finds the node that runs on this machine: the one called
.RI pybroker@ HOST ,
else the only one there is. Root and the user that the node runs as may use it.
.PP
Answers go to standard output, errors to standard error. A listing without rows prints nothing, not even its header.
Informational lines appear above an answer unless
.BR \-q ,
.B \-s
or one of the formatters json and csv is given. In tables a control character within a name is shown escaped, as in C.
.SH ON A TERMINAL
When standard output is a terminal and neither
.B \-\-formatter
nor
.B \-s
is given, tables are drawn for people: in columns, states in colour, rows with more columns than fit as blocks of lines.
A command that takes its time says so, and how far it is if it counts its work. What a pipe gets never changes.
.PP
Commands that destroy something (messages, queues, virtual hosts, users, all definitions, many connections) ask first
when standard input is a terminal too;
.B \-\-yes
answers beforehand. Scripts are never asked.
.PP
.B \-\-watch
shows a listing, the status, the alarms or what
.B why_blocked
tells, again and again in place: arrow and page keys move in it, space looks at once, q ends.
In a pipe the answers follow one another.
.PP
.B top
shows queues or connections with their rates, totals and alarms, and what holds a connection back: Tab changes between
the two, < and > (or left and
right) choose the column that sorts, r turns the order, / filters by a text, space holds the picture, + and \- change
how often it looks, h helps, q ends. Rates are the difference of two looks. In a pipe it lists the counters once.
.SH WHEN PUBLISHERS WAIT
A connection that publishes is not read while memory or disk are short (an alarm), and for moments while what it sent
cannot be followed (flow control). Consumers go on. The states in
.B list_connections
say so:
.TP
.B blocking
There is an alarm; the connection will be blocked when it publishes.
.TP
.B blocked
An alarm holds it back.
.TP
.B flow
Something else does, or did in the last five seconds: the journal, which is to have no more than 8 MiB of one connection
that are not on disk; a queue that is paged out because memory is more than half of what is allowed; the client itself,
which leaves more than 1 MiB of replies unread; or 64 replies on one channel that wait for the disk.
.PP
.B why_blocked
tells whom this concerns, since when and by how much, and what to do about it. The same is kept for each connection in
the columns
.BR last_blocked_by ,
.BR last_blocked_age ,
.BR last_blocked_cause ,
.BR blocked_time ,
.B flow_time
and
.B flow_count
of
.BR list_connections ;
with
.B \-\-problems
it lists only those that are held back, were stopped in the last five seconds, or leave unread what is sent to them.
.PP
.nf
pybrokerctl why_blocked
pybrokerctl why_blocked worker \-\-watch
pybrokerctl list_connections \-\-problems
pybrokerctl set_vm_memory_high_watermark 0.6
pybrokerctl set_disk_free_limit mem_relative 1.0
.fi
.PP
The memory limit is compared with the resident set without what was freed in it and can be used again;
.B memory_breakdown
shows both, and
.B status
all limits with what they were made of. A watermark of 0 stops all publishing. What is set by these commands holds until
the node stops;
.BR pybroker.conf (5)
has the keys.
.PP
.B check_alarms
is the health check for it: code 69 while there is an alarm.
.SH DATA AND BACKUPS
The words of a command's name may stand apart:
.B log status
is
.BR log_status .
.PP
.B log verify
reads all of the durable log and the definitions of a node that runs, as far as it was on disk when it began, or of one
that is stopped, with
.BR \-\-data\-dir .
Damage ends it with exit code 65 and a line for each place.
.B log repair
takes out what is damaged; the node must be stopped for it. A node that starts on damaged data does so without it too,
and says what is lost.
.PP
.B backup create
copies what a running node has on disk at this moment, while it goes on: every message that was confirmed before is in
it.
.B backup verify
compares each file with its checksum.
.B backup restore
makes a data folder of it in which nothing may be yet, and
.B pybroker \-\-data\-dir
starts with that.
.PP
.nf
pybrokerctl backup create /backups/monday
pybrokerctl backup verify /backups/monday
pybrokerctl backup restore /backups/monday \-\-data\-dir /var/lib/pybroker
.fi
.SH REPORTS
.B report
by itself displays everything about the node;
.B report backlog
and its like show what the data pipeline has found in days of telemetry.
.BR pybroker\-pipeline (7)
explains both.
.PP
.nf
pybrokerctl pipeline run all
pybrokerctl report blocked
pybrokerctl report capacity \-\-format html > capacity.html
.fi
.SH COMPLETION
Bash, zsh and fish complete commands, options, columns, and names of queues, exchanges, virtual hosts, users and
connections, which are asked from the running node; one that does not answer within half a second is left alone. For
this shell only, or at every start from its start-up file:
.PP
.nf
eval "$(pybrokerctl completion bash)"
eval "$(pybrokerctl completion zsh)"
pybrokerctl completion fish | source
.fi
"""
TAIL = r""".SH ENVIRONMENT
.TP
.B PYBROKER_SOCKET
Control socket to use instead of looking for one;
.B \-\-socket
overrides it.
.TP
.B NO_COLOR
Neither colour nor bold print, unless it is empty.
.TP
.B TERM
With the value dumb likewise, and nothing is drawn in place.
.TP
.B COLUMNS
Width of the terminal, if it is not what the terminal says.
.SH FILES
.TP
.RI /run/pybroker/ NODENAME .sock
Control socket of a node that root or the system service runs; other users' nodes have theirs in their runtime folder.
.SH DIFFERENCES FROM RABBITMQCTL
An unknown virtual host, queue or connection is always refused with one sentence, the nearest name, and exit code 65
(67 for a user); rabbitmqctl answers some of them with an empty list and success.
.br
The formatter erlang does not exist.
.br
Control characters within names are shown escaped in tables, and pretty_table draws in ASCII where there is no UTF\-8.
.br
The JSON of a sentence also holds the result and the node.
.br
Node names of other hosts are refused: a node is reached over its socket only.
.B \-n
never means another node than the one named, except that rabbit@HOST is the one that runs here.
.br
Every refusal begins with Error:, once; rabbitmqctl says it twice or not at all now and then.
.br
A closed output, a full disk and words that are not UTF\-8 end in a sentence and a code.
.br
A memory watermark above 1 is accepted with a warning: it never stops anybody.
.br
An alarm that
.B eval
sets stays until
.B eval
clears it; what is short indeed cannot be cleared so. RabbitMQ's monitors clear the one at the next change, and leave
the other cleared until then.
.br
The JSON of
.B alarms
and of a failed health check has each alarm as an object, beside RabbitMQ's
.I local
and
.IR global ;
behind a sentence stands why, and for how long it has been so.
.br
The categories of
.B memory_breakdown
are those that Python's memory falls into, and
.B status
leaves them to it; the strategy
.I allocated
is the default, and leaves out what was freed and can be used again. What is about Erlang, TLS, plugins,
feature flags and other nodes has
no commands here.
.br
On a terminal tables are drawn, and destructive commands ask; rabbitmqctl treats a person like a pipe.
.br
.B environment
shows the lines of
.BR pybroker.conf (5)
that are in force with the source of each instead of Erlang terms, and hides the password.
.br
.B await_startup
also waits for a node that is not there yet; rabbitmqctl fails then.
.br
.B report
takes every formatter.
.br
.B eval
knows only the expressions that client suites set a node up with.
.br
.B hash_password
does not repeat the password.
.br
A log level that does not exist is a usage error, 64.
.br
.B consumer_capacity
and
.B consumer_utilisation
say whether a consumer could take a message at the moment of asking, rather than the share of the time before it.
.PP
Columns that do not exist here, because keeping their figures would cost every message something:
.B messages_persistent
and
.B message_bytes_persistent
(persistent messages are not counted apart).
.SH SEE ALSO
.BR pybroker (8),
.BR pybroker.conf (5),
.BR pybroker-control (7),
.BR pybroker-amqp (7),
.BR pybroker-pipeline (7)
"""


def page() -> str:
    """Return the whole page."""
    return HEAD + "".join(_options()) + "".join(_commands()) + "".join(_exit_status()) + TAIL


def section(command: Command) -> str:
    """Return one command's part of the page."""
    words = " ".join(usage.signature(command))
    lines = [f".SS {escape(command.name)}", f".B {escape(command.name)}", escape(words), ".PP"]
    lines.append(f"{escape(command.summary)}.")
    for label, text in usage.arguments(command):
        lines += [".TP", f".B {escape(label)}", f"{escape(text)}"]
    if command.columns:
        default = " ".join(usage.shown_by_default(command))
        lines += [".PP", f"Columns; without any, {escape(default)}:"]
        for column in command.columns:
            lines += [".TP", f".B {escape(column.name)}", escape(column.help)]
    return "\n".join(line for line in lines if line) + "\n"


def escape(text: str) -> str:
    """Return text in which roff sees nothing but text: dashes stay dashes, no line starts a request."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def _options() -> Iterator[str]:
    yield ".SH OPTIONS\nThey may stand before or after the command.\n"
    for flags, text in usage.general_options():
        yield f".TP\n.B {escape(flags)}\n{escape(text)}\n"


def _commands() -> Iterator[str]:
    yield ".SH COMMANDS\n"
    for name in (*LOCAL_NAMES, *commands.NAMES):
        command = find(name)
        assert command is not None, name
        yield section(command)


def _exit_status() -> Iterator[str]:
    yield ".SH EXIT STATUS\n"
    for code, meaning in exit_codes.MEANINGS.items():
        yield f".TP\n.B {code}\n{escape(meaning)}\n"
