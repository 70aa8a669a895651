"""declare_queue: queue.declare of a user of the HTTP API."""

from functools import partial
from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.names import check_name
from pybroker.control.arguments.removals import when_gone
from pybroker.control.arguments.tables import table_of
from pybroker.control.spec import Arg, Changed, Command, Node, Refused, VHostArg
from pybroker.core.auth.access import find_accessible_queue, strip_line_ends
from pybroker.core.topology.queue_declare import QueueProperties, check_queue_declare, create_queue


class Args(NamedTuple):
    """The queue."""

    name: Annotated[str, Arg("name of the queue")]
    vhost: VHostArg
    durable: Annotated[bool, Arg("it outlives a restart", "--durable")] = False
    auto_delete: Annotated[bool, Arg("it goes with its last consumer", "--auto-delete")] = False
    passive: Annotated[bool, Arg("make none", "--passive")] = False
    node: Annotated[str | None, Arg("node that it lies on", "--on")] = None
    arguments: Annotated[dict[str, Any], Arg("its arguments", "--arguments")] = {}  # noqa: RUF012 - never changed


def check(args: Args) -> None:
    """Refuse a name that is too long. Raises BadArguments."""
    check_name("a queue", args.name)


def run(node: Node, args: Args) -> Changed:
    """Make it, or compare with the one that exists; return whether it was made. Raises Refused, AmqpError."""
    vhost, user = find_vhost(node.broker, args.vhost), node.broker.users.acting(node.user.name)
    if args.node not in {None, node.name}:
        raise Refused(f"Node {args.node} could not be contacted")
    if args.passive:
        find_accessible_queue(vhost, None, strip_line_ends(args.name))
        return Changed(0, {"created": False})
    asked = QueueProperties(args.durable, False, args.auto_delete, table_of(node, args.arguments))
    name, queue = when_gone(node, partial(check_queue_declare, vhost, user, None, args.name, asked))
    if queue is not None:
        queue.touch()
        # Another may just have made it.
        return Changed(node.broker.definitions.commit_position if queue.durable else 0, {"created": False})
    return Changed(create_queue(vhost, user, None, name, asked, node.cause), {"created": True})


COMMAND = Command(
    name="declare_queue",
    section="Queues",
    summary="Makes a queue for a user of pybroker-web",
    args=Args,
    effect="write",
    access="management",
    run=run,
    check=check,
)
