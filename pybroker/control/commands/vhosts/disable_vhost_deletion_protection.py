"""disable_vhost_deletion_protection: permit again that a virtual host is deleted."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node


class Args(NamedTuple):
    """The virtual host; a positional argument, unlike -p."""

    vhost_name: Annotated[str, Arg("name of the virtual host", "", "vhost", names="vhost")]


def run(node: Node, args: Args) -> Changed:
    """Remove its protection. Raises Refused."""
    return Changed(find_vhost(node.broker, args.vhost_name).describe(protected=False, cause=node.cause))


COMMAND = Command(
    name="disable_vhost_deletion_protection",
    section="Virtual hosts",
    summary="Removes the deletion protection of a virtual host, so that it can be deleted",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Removing deletion protection from virtual host "{vhost_name}" by updating its metadata...',
)
