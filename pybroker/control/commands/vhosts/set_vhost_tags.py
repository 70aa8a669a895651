"""set_vhost_tags: replace the tags of a virtual host."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node


class Args(NamedTuple):
    """The virtual host and all tags."""

    vhost: Annotated[str, Arg("name of the virtual host", names="vhost")]
    tags: Annotated[tuple[str, ...], Arg("all tags of the virtual host; none removes all tags", "", "tag")] = ()


def run(node: Node, args: Args) -> Changed:
    """Replace the tags. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    return Changed(vhost.describe(tags=tuple(dict.fromkeys(args.tags)), cause=node.cause))


COMMAND = Command(
    name="set_vhost_tags",
    section="Virtual hosts",
    summary="Replaces the tags of a virtual host",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Setting tags for virtual host "{vhost}" to [{tags}] ...',
)
