"""Prose of pybrokerctl(1) in roff: what precedes the options and commands of the page, and what follows them."""

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
sends a command to a running
.BR pybroker (8)
over its control socket and prints the answer. Its commands, options, columns and exit codes are those of rabbitmqctl,
so existing scripts work after the name is changed.
.PP
By default it addresses the node on the local machine: the one named
.RI pybroker@ HOST ,
else the only one that is running. Only root and the user of the node may use it.
.PP
Answers go to standard output, errors to standard error. A listing without rows prints nothing, not even its header.
Informational lines precede an answer unless
.BR \-q ,
.B \-s
or one of the formatters json and csv is given. In tables, control characters in names are escaped as in C.
.SH ON A TERMINAL
If standard output is a terminal and neither
.B \-\-formatter
nor
.B \-s
is given, tables are drawn in columns, with coloured states; rows with too many columns become blocks of lines.
A long operation reports its progress. The output in a pipe does not depend on the terminal.
.PP
Commands that destroy something (messages, queues, virtual hosts, users, all definitions, many connections) ask for
confirmation if standard input is a terminal too, unless
.B \-\-yes
is given. Scripts are never asked.
.PP
.B \-\-watch
refreshes a listing, the status, the alarms or the output of
.B why_blocked
in place. Arrow and page keys scroll, space refreshes at once, q quits. In a pipe, the answers follow one another.
.PP
.B top
shows queues or connections with their rates, totals, alarms, and the cause of flow control. Tab switches between the
two, < and > (or left and right) choose the sort column, r reverses the order, / filters by a text, space pauses, + and
\- change the refresh interval, h shows help, q quits. Rates are differences between two refreshes; a
terminal of 140 columns also shows the age of the message at the head and the rates of the last minute. In a pipe, it
lists the counters once.
.SH MESSAGES
.B peek_messages
shows messages in the order of their delivery and changes nothing: neither order nor redelivered, TTLs, counters or
consumers, nor what is in memory. Each message is shown with its position, from which
.B \-\-from
continues. Messages that arrive after the command are not shown. In JSON,
.I deliveries
is how often a message has come back, as in
.IR x\-delivery\-count :
0 while a consumer has it for the first time.
.B \-\-unacked
also shows messages that consumers have,
.B \-\-delayed
only messages that wait for their retry.
.PP
.B get_messages
takes messages as a client does. Without
.B \-\-ack
they return to their places, are marked as redelivered, and count for a delivery limit. With
.B \-\-ack
messages leave the queue when pybrokerctl has written all of them; if it cannot, or is stopped before, they return.
Their bodies are shown whole unless
.B \-\-body\-size
is given; a body of more than 16 MiB stays in the queue, and the command fails. About 64 MiB are taken at a time.
.PP
.B publish
fails with exit code 65 if the message is routed to no queue, with 75 if a queue refuses it. It returns
when the message is confirmed, which means on disk if message and queue are durable.
.PP
The options
.B \-\-format
and
.B \-\-formatter
of these commands are the same. Bodies are shown according to their content type and encoding: JSON, text, either of
them compressed by gzip or deflate, anything else in hexadecimal. They are decompressed as far as they are shown. In
text and tables control characters are escaped;
.B "\-\-format raw"
writes bodies as they were published, separated by line ends, and refuses to write to a terminal.
.SH STREAMS
.B list_streams
shows what each stream keeps and how far its slowest consumer is behind,
.B "stream status"
all of its consumers.
.PP
.B "stream read"
shows messages of a stream from any place on, without any effect on the stream or its consumers. A place is an offset, a
number from the end as
.BR \-5 ,
a time, which is UTC unless it says otherwise, or a time ago as
.BR 90s ", " 1h " or " 7d .
Times are exact to the chunk: the messages that came within a few milliseconds. With
.B \-\-follow
it goes on with the messages that come;
.B \-\-filter
and
.B \-\-where
choose among them.
.PP
.B "stream truncate"
removes the oldest messages before a place. Offsets of the others do not change. The segments that lie before the new
first offset are removed from disk; the first message that stays may share its segment with others that are not shown
any more.
.PP
.BR list_stream_connections ", " list_stream_publishers " and " list_stream_consumers
show clients of the stream protocol. Of a group of consumers a single one is active:
.B list_stream_group_consumers
tells which. Such clients keep offsets and ids in the stream, which
.B list_stream_tracking
shows; with
.B reset_offset
a consumer reads again, or passes over messages, when it connects next.
.PP
.B add_super_stream
makes an exchange and a stream for each partition. Publishers choose a partition by a hash of a key, or with
.B \-\-binding\-keys
by the key. With
.B \-\-hash\-exchange
the exchange has the type x\-super\-stream, which hashes as clients of the stream protocol do: publishers of AMQP reach
the same partition by the same routing key. All is made or nothing, and
.B delete_super_stream
deletes all of it.
.SH BLOCKED PUBLISHERS
The node stops reading a publishing connection while memory or disk space is short (an alarm), and briefly while its
messages arrive faster than the node can process them (flow control). Consumers are not affected.
.B list_connections
shows these states:
.TP
.B blocking
An alarm is set. The connection will be blocked when it publishes.
.TP
.B blocked
An alarm blocks the connection, or it published to a queue that an operator paused (see pybroker\-amqp(7)).
.TP
.B flow
Flow control throttles the connection, or did in the last five seconds. The causes are: the journal, if 8 MiB of the
connection's messages are not yet on disk; a queue that is being paged out because memory use is above the paging
threshold; the client, if it leaves more than 1 MiB of replies unread; and replies, if 64 on one channel wait for the
disk.
.PP
.B why_blocked
shows the connections concerned, since when and by how much, and what to do. For each connection, the columns
.BR last_blocked_by ,
.BR last_blocked_age ,
.BR last_blocked_cause ,
.BR blocked_time ,
.B flow_time
and
.B flow_count
of
.B list_connections
keep the history. With
.B \-\-problems
it lists only connections that are blocked or throttled, were throttled in the last five seconds, or do not read from
their socket.
.PP
.nf
pybrokerctl why_blocked
pybrokerctl why_blocked worker \-\-watch
pybrokerctl list_connections \-\-problems
pybrokerctl set_vm_memory_high_watermark 0.6
pybrokerctl set_disk_free_limit mem_relative 1.0
.fi
.PP
The memory limit applies to the resident set without what messages have freed in it since it was largest.
.B memory_breakdown
calls that \fBreusable\fP; \fBallocated_unused\fP is other memory that malloc holds free, \fBother\fP Python's.
.B status
shows all limits and how they are computed. A watermark of 0 blocks all publishers. Limits set by a command apply
until the node stops; to keep them, set the keys of
.BR pybroker.conf (5).
.PP
.B check_alarms
is the health check: it exits with 69 while an alarm is set.
.SH DATA AND BACKUPS
The words of a command's name may be separate:
.B log status
is
.BR log_status .
.PP
.B log verify
reads the whole durable log and all definitions: those of a running node, as of the start of the command, or those of a
stopped node, with
.BR \-\-data\-dir .
If it finds damage, it prints a line for each place and exits with 65.
.B log repair
moves damaged data to quarantine; it requires the node to be stopped. A node that starts with damaged data skips it and
reports what is lost.
.PP
.B backup create
copies the data that a running node has on disk, without interrupting it. The backup contains every message confirmed
before the command.
.B backup verify
checks the checksum of each file.
.B backup restore
creates a data folder, which must be new or empty, from a backup. Then start the node with
.BR "pybroker \-\-data\-dir" .
.PP
.nf
pybrokerctl backup create /backups/monday
pybrokerctl backup verify /backups/monday
pybrokerctl backup restore /backups/monday \-\-data\-dir /var/lib/pybroker
.fi
.SH REPORTS
.B report
without a name displays the state of the node.
.B report backlog
and the other reports display findings of the data pipeline in days of telemetry; see
.BR pybroker\-pipeline (7).
.PP
.nf
pybrokerctl pipeline run all
pybrokerctl report blocked
pybrokerctl report capacity \-\-format html > capacity.html
.fi
.SH COMPLETION
Bash, zsh and fish can complete commands, options, columns, and the names of queues, exchanges, virtual hosts, users and
connections, which they request from the running node (for at most half a second). To enable completion, run this
command, or add it to the shell's start-up file:
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
Control socket of the node;
.B \-\-socket
overrides it.
.TP
.B NO_COLOR
If set and not empty, disables colour and bold print.
.TP
.B TERM
The value dumb disables colour, bold print and refreshing in place.
.TP
.B COLUMNS
Width of the terminal, overriding the actual one.
.SH FILES
.TP
.RI /run/pybroker/ NODENAME .sock
Control socket of a node that root or the system service runs. Nodes of other users have it in their runtime folder.
.SH DIFFERENCES FROM RABBITMQCTL
An unknown virtual host, queue or connection is always refused with one sentence, the nearest name, and exit code 65
(67 for a user). For some of them rabbitmqctl prints an empty list and succeeds.
.br
Tables escape control characters in names, and pretty_table draws in ASCII without UTF\-8.
.br
The JSON of a sentence also contains the result and the node.
.br
Node names of other hosts are refused, because a node is only reachable over its local socket.
.B \-n
never addresses another node than the one named, except that rabbit@HOST means the local node.
.br
Refusals begin with Error:, once; those of wrong options and arguments with Error (argument validation):, as in
rabbitmqctl. The refusal of an unknown command has neither. It names similar commands instead of all, and a command that
deletes, clears or resets something only if that verb, or almost that, was typed.
.br
A closed output, a full disk and arguments that are not UTF\-8 produce a sentence and an exit code.
.br
A memory watermark above 1 is accepted with a warning: it never blocks publishers.
.br
An alarm set with
.B eval
stays until it is cleared in the same way, by which an alarm for a real shortage cannot be. RabbitMQ's monitors override
both at the next change.
.br
The JSON of
.B alarms
and of a failed health check contains each alarm as an object, besides RabbitMQ's
.I local
and
.IR global ;
each sentence also contains the cause and the duration.
.br
.B memory_breakdown
has categories for a Python process, and
.B status
does not repeat them. The strategy
.I allocated
is the default; it excludes memory that the allocator can reuse. Commands about Erlang, plugins and other nodes do not
exist, nor does the formatter erlang.
.br
On a terminal, tables are drawn and destructive commands ask for confirmation; rabbitmqctl does neither.
.br
.B environment
shows the settings of
.BR pybroker.conf (5)
in effect and their sources instead of Erlang terms, and hides the password.
.br
.B await_startup
also waits for a node that is not running yet; rabbitmqctl fails.
.br
.B report
supports every formatter.
.br
.B eval
supports only the expressions with which client test suites set up a node.
.br
.B hash_password
does not repeat the password.
.br
An unknown log level is a usage error, 64.
.br
.B consumer_capacity
and
.B consumer_utilisation
report whether a consumer can accept a message now, not the share of past time.
.SH SEE ALSO
.BR pybroker (8),
.BR pybroker.conf (5),
.BR pybroker-control (7),
.BR pybroker-amqp (7),
.BR pybroker-pipeline (7)
"""
# Explained once, not with each command that has them.
