"""bind: queue.bind and exchange.bind of a user of the HTTP API."""

from functools import partial
from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.names import NAME_OCTETS_MAX
from pybroker.control.arguments.removals import when_gone
from pybroker.control.arguments.tables import table_of
from pybroker.control.objects.topology import key_of
from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Changed, Command, Node, VHostArg
from pybroker.core.auth.access import strip_line_ends
from pybroker.core.routing.binding import Binding
from pybroker.core.topology import exchange_declare
from pybroker.core.topology.removal import check_leaving

KINDS = ("queue", "exchange")


class Args(NamedTuple):
    """From where to where, by which key and arguments."""

    source: Annotated[str, Arg("exchange that messages come from")]
    kind: Annotated[str, Arg("what they go to", choices=KINDS)]
    destination: Annotated[str, Arg("name of that")]
    vhost: VHostArg
    routing_key: Annotated[str, Arg("routing key", "--routing-key")] = ""
    arguments: Annotated[dict[str, Any], Arg("its arguments", "--arguments")] = {}  # noqa: RUF012 - never changed


def check(args: Args) -> None:
    """Refuse a routing key that is too long. Raises BadArguments."""
    if len(args.routing_key.encode()) > NAME_OCTETS_MAX:
        raise BadArguments(f"a routing key may have at most {NAME_OCTETS_MAX} octets", EX_DATAERR)


def run(node: Node, args: Args) -> Changed:
    """Bind them; return what tells this binding from others between the same ends. Raises Refused, AmqpError."""
    vhost, user = find_vhost(node.broker, args.vhost), node.broker.users.acting(node.user.name)
    table = table_of(node, args.arguments)
    when_gone(node, partial(check_leaving, vhost, args.kind, args.destination))
    where = (args.source, args.kind, args.destination, args.routing_key, table)
    commit_position = exchange_declare.bind(vhost, user, None, *where, node.cause)
    nouns: Any = vhost.queues if args.kind == "queue" else vhost.exchanges
    ends = vhost.exchanges[strip_line_ends(args.source)], nouns[strip_line_ends(args.destination)]
    return Changed(commit_position, {"properties_key": key_of(Binding(*ends, args.routing_key, table))})


COMMAND = Command(
    name="bind",
    section="Queues",
    summary="Binds a queue or an exchange for a user of pybroker-web",
    args=Args,
    effect="write",
    access="management",
    run=run,
    check=check,
)
