"""enable_vhost_deletion_protection: refuse to delete a virtual host from now on."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node


class Args(NamedTuple):
    """The virtual host; a positional argument, unlike -p."""

    vhost_name: Annotated[str, Arg("name of the virtual host", "", "vhost", names="vhost")]


def run(node: Node, args: Args) -> Changed:
    """Protect it, over restarts too. Raises Refused."""
    return Changed(find_vhost(node.broker, args.vhost_name).describe(protected=True, cause=node.cause))


COMMAND = Command(
    name="enable_vhost_deletion_protection",
    section="Virtual hosts",
    summary="Protects a virtual host from deletion until the protection is removed",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Protecting virtual host "{vhost_name}" from removal by updating its metadata...',
)
