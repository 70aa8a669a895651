"""The general options: values and help texts. One table for what parses, helps, completes and for the man page."""

from typing import Final, NamedTuple

from pybroker.control.spec import Command

WATCH_S: Final = 2.0


class General(NamedTuple):
    """One option: `name` in the code, its flags, what it does, and what its value is called if it takes one."""

    name: str
    flags: str
    help: str
    metavar: str = ""
    optional_value: bool = False

    @property
    def short(self) -> str:
        """Return its short flag, if it has one."""
        return next((flag for flag in self.flags.split() if not flag.startswith("--")), "")

    @property
    def long(self) -> str:
        """Return its long flag, if it has one."""
        return next((flag for flag in self.flags.split() if flag.startswith("--")), "")

    @property
    def long_with_value(self) -> str:
        """Return `--node <node>`, as the help shows it."""
        value = f" <{self.metavar}>" if self.metavar else ""
        return self.long + (f" [{value.strip()}]" if self.optional_value else value)


# Before or after a command's name.
EVERYWHERE: Final = (
    General("help", "-? --help", "displays help for the command"),
    General("node", "-n --node", "target node; rabbit@HOST means the local node, for existing runbooks", "node"),
    General(
        "socket", "--socket", "control socket of the node (also PYBROKER_SOCKET); default: found by node name", "path"
    ),
    General("longnames", "-l --longnames", "ignored, for compatibility: both forms of a node name are accepted"),
    General("timeout", "-t --timeout", "timeout of the whole operation", "seconds"),
    General("quiet", "-q --quiet", "suppress informational messages"),
    General("silent", "-s --silent", "suppress informational messages and table headers"),
    General("vhost", "-p --vhost", "virtual host, for commands that work on one", "vhost"),
    General(
        "formatter",
        "--formatter",
        "table (default; drawn in columns on a terminal unless specified), pretty_table, json or csv",
        "name",
    ),
    General("no_table_headers", "--no-table-headers", "no header row (table)"),
    General("pad_to_header", "--pad-to-header", "values padded to the width of their header (table)"),
    General(
        "dry_run", "--dry-run", "check the form of the arguments and print what would be done, without asking the node"
    ),
    General("yes", "-y --yes", "do not ask for confirmation"),
)
# Only before a command's name.
ABOUT: Final = (
    General("version", "--version", "displays the version"),
    General("man_page", "--man-page", "displays the source of pybrokerctl(1)"),
)
WATCH: Final = General(
    "watch",
    "--watch",
    f"refresh the output every so many seconds (default: {WATCH_S:g}) until q or Ctrl-C",
    "seconds",
    optional_value=True,
)
# Besides the listings.
WATCHED_DOCUMENTS: Final = frozenset({"alarms", "log_status", "memory_breakdown", "status", "why_blocked"})


def further(command: Command) -> tuple[General, ...]:
    """Return the options that pybrokerctl adds to those of a command's own."""
    # A stream goes on by itself.
    reads = command.effect == "read" and (command.columns or command.name in WATCHED_DOCUMENTS)
    return (WATCH,) if reads else ()
