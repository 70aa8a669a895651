"""config_diff: which keys have another value in the files than in the node, and what makes each take effect."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from pybroker.control.spec import Arg, Column, ColumnsArg, Command, Node


class Args(NamedTuple):
    """Columns, and whether keys without a difference are listed as well."""

    columns: ColumnsArg = ()
    all: Annotated[bool, Arg("also list keys whose values are the same", "--all")] = False


def run(node: Node, args: Args) -> Iterator[Any]:
    """Yield the differences. Raises Refused: something is wrong in the files."""
    return iter(node.daemon.configuration.difference(everything=args.all))


COMMAND = Command(
    name="config_diff",
    section="Configuration",
    summary="Compares the configuration files with the settings in effect",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    columns=(
        Column("key", lambda change: change.key, "configuration key"),
        Column("running", lambda change: change.running, "value in effect; passwords are hidden"),
        Column("files", lambda change: change.files, "value after a restart"),
        Column(
            "change",
            lambda change: change.change,
            "how it takes effect: reload, restart, new node (only at the first start of a node), kept (was set with "
            "pybrokerctl, and the files have not changed since), or same",
        ),
        Column("running_source", lambda change: change.running_source, "source of the value in effect"),
        Column("files_source", lambda change: change.files_source, "source of the other value: file and line"),
    ),
    default=("key", "running", "files", "change", "files_source"),
    banner="Comparing the configuration files with node {node} ...",
    app="any",
)
