"""delete_exchange: exchange.delete of a user of the HTTP API."""

from functools import partial
from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_exchange, find_vhost
from pybroker.control.arguments.removals import is_over, when_gone
from pybroker.control.spec import Arg, Changed, Command, Node, VHostArg
from pybroker.core.topology import exchange_declare
from pybroker.core.topology.removal import check_leaving


class Args(NamedTuple):
    """The exchange and the condition."""

    name: Annotated[str, Arg("name of the exchange")]
    vhost: VHostArg
    if_unused: Annotated[bool, Arg("only if nothing is bound to it", "--if-unused")] = False


def run(node: Node, args: Args) -> Changed:
    """Delete it with its bindings. Raises Refused, AmqpError."""
    vhost, user = find_vhost(node.broker, args.vhost), node.broker.users.acting(node.user.name)
    when_gone(node, partial(check_leaving, vhost, "exchange", args.name))
    find_exchange(vhost, args.name)
    return is_over(node, exchange_declare.delete_exchange(vhost, user, args.name, node.cause, if_unused=args.if_unused))


COMMAND = Command(
    name="delete_exchange",
    section="Queues",
    summary="Deletes an exchange for a user of pybroker-web",
    args=Args,
    effect="destroy",
    access="management",
    run=run,
)
