"""list_vhost_limits: how many connections and queues virtual hosts may have."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.policies import as_json
from pybroker.control.spec import Arg, Column, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterable


class Args(NamedTuple):
    """One virtual host, or all."""

    all_vhosts: Annotated[bool, Arg("list all virtual hosts that have limits", "--global")] = False
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[tuple[str, Any]] | dict[str, Any]":
    """Return name and limits of all that have any, or the document of one, empty without limits. Raises Refused."""
    broker = node.broker
    names = list(broker.vhosts) if args.all_vhosts else [find_vhost(broker, args.vhost).name]
    limits = [(name, broker.parameters.of(name, "vhost-limits").get("limits")) for name in names]
    found = [(name, value) for name, value in limits if value is not None]
    if args.all_vhosts:
        return found
    text = "".join(as_json(dict(value)) for _, value in found)
    return node.result(text, value=text)


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner."""
    return "Listing limits for all vhosts ..." if args.all_vhosts else 'Listing limits for vhost "{vhost}" ...'


COLUMNS = (
    Column("vhost", lambda row: row[0], "virtual host"),
    Column("limits", lambda row: as_json(dict(row[1])), "limits, as JSON"),
)

COMMAND = Command(
    name="list_vhost_limits",
    section="Virtual hosts",
    summary="Displays the limits of a virtual host as JSON, or lists all that have limits",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    columns=COLUMNS,
    banner=banner,
)
