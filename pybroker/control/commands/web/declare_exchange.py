"""declare_exchange: exchange.declare of a user of the HTTP API."""

from functools import partial
from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.names import check_name
from pybroker.control.arguments.removals import when_gone
from pybroker.control.arguments.tables import table_of
from pybroker.control.spec import Arg, Changed, Command, Node, VHostArg
from pybroker.core.auth.access import strip_line_ends
from pybroker.core.topology import exchange_declare


class Args(NamedTuple):
    """The exchange."""

    name: Annotated[str, Arg("name of the exchange")]
    vhost: VHostArg
    type: Annotated[str, Arg("its type", "--type")] = "direct"
    durable: Annotated[bool, Arg("it outlives a restart", "--durable")] = False
    auto_delete: Annotated[bool, Arg("it goes with its last binding", "--auto-delete")] = False
    internal: Annotated[bool, Arg("clients cannot publish to it", "--internal")] = False
    passive: Annotated[bool, Arg("make none", "--passive")] = False
    arguments: Annotated[dict[str, Any], Arg("its arguments", "--arguments")] = {}  # noqa: RUF012 - never changed


def check(args: Args) -> None:
    """Refuse a name that is too long. Raises BadArguments."""
    check_name("an exchange", args.name)


def run(node: Node, args: Args) -> Changed:
    """Make it, or compare with the one that exists; return whether it was made. Raises Refused, AmqpError."""
    vhost, user = find_vhost(node.broker, args.vhost), node.broker.users.acting(node.user.name)
    is_there = strip_line_ends(args.name) in vhost.exchanges
    declare = partial(
        exchange_declare.declare_exchange,
        vhost,
        user,
        args.name,
        args.type,
        passive=args.passive,
        durable=args.durable,
        auto_delete=args.auto_delete,
        internal=args.internal,
        arguments=table_of(node, args.arguments),
        cause=node.cause,
    )
    return Changed(when_gone(node, declare), {"created": not is_there})


COMMAND = Command(
    name="declare_exchange",
    section="Queues",
    summary="Makes an exchange for a user of pybroker-web",
    args=Args,
    effect="write",
    access="management",
    run=run,
    check=check,
)
