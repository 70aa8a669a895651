"""add_vhost: a new virtual host."""

from typing import Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node, Refused, split_columns


class Args(NamedTuple):
    """Name and what describes it."""

    vhost_name: Annotated[str, Arg("name of the virtual host", "", "vhost")]
    description: Annotated[str, Arg("what it is for", "-d --description")] = ""
    tags: Annotated[str, Arg("tags, separated by commas", "--tags", "tag1,tag2")] = ""


def run(node: Node, args: Args) -> None:
    """Add it with RabbitMQ's exchanges; one that is there already stays as it is. Raises Refused."""
    if not args.vhost_name:
        raise Refused("the name of a virtual host cannot be an empty string")
    node.broker.add_vhost(args.vhost_name, args.description, split_columns([args.tags]))


COMMAND = Command(
    name="add_vhost",
    section="Virtual hosts",
    summary="Adds a virtual host",
    args=Args,
    effect="write",
    run=run,
    banner='Adding vhost "{vhost_name}" ...',
)
