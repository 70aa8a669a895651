"""add_vhost: a new virtual host."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.names import NAME_OCTETS_MAX
from pybroker.control.spec import Arg, BadArguments, Changed, Command, Node, Refused, split_columns

QUEUE_TYPES = ("classic", "quorum", "stream")


class Args(NamedTuple):
    """Name and what describes it."""

    vhost_name: Annotated[str, Arg("name of the virtual host", "", "vhost")]
    description: Annotated[str, Arg("what it is for", "-d --description")] = ""
    tags: Annotated[str, Arg("tags, separated by commas", "--tags", "tag1,tag2")] = ""
    default_queue_type: Annotated[
        str | None,
        Arg(f"type of durable queues declared without one: {', '.join(QUEUE_TYPES)}", "--default-queue-type", "type"),
    ] = None


def check(args: Args) -> None:
    """Refuse a type that there is not. Raises BadArguments."""
    if args.default_queue_type not in {None, *QUEUE_TYPES}:
        raise BadArguments("Unsupported default queue type")


def run(node: Node, args: Args) -> Changed:
    """Add it with RabbitMQ's exchanges; one that is there already stays as it is. Raises Refused."""
    if not args.vhost_name:
        raise Refused("the name of a virtual host cannot be an empty string")
    if len(args.vhost_name.encode()) > NAME_OCTETS_MAX:
        raise Refused(f"the name of a virtual host may have at most {NAME_OCTETS_MAX} octets")
    tags = split_columns([args.tags])
    queue_type = args.default_queue_type or ""
    return Changed(node.broker.add_vhost(args.vhost_name, args.description, tags, queue_type, cause=node.cause))


COMMAND = Command(
    name="add_vhost",
    section="Virtual hosts",
    summary="Adds a virtual host",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Adding vhost "{vhost_name}" ...',
    check=check,
)
