"""export_definitions: users, virtual hosts, policies, queues and all the rest as a document that RabbitMQ imports."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.json_lines import check_format
from pybroker.control.spec import Arg, Column, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterator


class Args(NamedTuple):
    """The destination and the virtual host."""

    file: Annotated[str, Arg("file to write; - writes to standard output", names="file")]
    format: Annotated[str, Arg("format of the file: json", "--format", "format")] = "json"
    vhost: Annotated[
        str | None,
        Arg("only entities of this virtual host; import such a file with --vhost", "-p --vhost", names="vhost"),
    ] = None


def check(args: Args) -> None:
    """Refuse formats that cannot be written. Raises BadArguments."""
    check_format(args.format)


def run(node: Node, args: Args) -> "Iterator[tuple[str, Any]]":
    """Return sections and items as of this moment. Raises Refused for an unknown virtual host."""
    if args.vhost is not None:
        find_vhost(node.broker, args.vhost)
    return node.broker.transfer.exported(args.vhost)


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner; nothing where the document goes."""
    return "" if args.file == "-" else 'Exporting definitions in JSON to a file at "{file}" ...'


COMMAND = Command(
    name="export_definitions",
    section="Definitions",
    summary="Exports definitions in RabbitMQ's JSON format: users with password hashes, virtual hosts, "
    "permissions, policies, parameters, queues, exchanges, bindings",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    columns=(
        Column("section", lambda one: one[0], "section or top-level member of the document"),
        Column("item", lambda one: one[1], "item of the section; empty at the start of the section"),
    ),
    banner=banner,
    check=check,
)
