"""delete_vhost: remove a virtual host with everything in it."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node, Refused


class Args(NamedTuple):
    """The virtual host; a positional argument, unlike -p."""

    vhost_name: Annotated[str, Arg("name of the virtual host", "", "vhost", names="vhost")]


def run(node: Node, args: Args) -> Changed:
    """Remove it; its connections are closed with 320. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost_name)
    if vhost.protected:
        text = "Cannot delete this virtual host: it is protected from deletion."
        raise Refused(
            f"{text} To lift the protection, inspect and update its metadata", facts={"protected": vhost.name}
        )
    over: list[int] = []
    node.broker.delete_vhost(vhost.name, over.append, cause=node.cause)
    return Changed(node.wait(over))


COMMAND = Command(
    name="delete_vhost",
    section="Virtual hosts",
    summary="Deletes a virtual host with its queues, exchanges and permissions, and closes its connections",
    args=Args,
    effect="destroy",
    access="administrator",
    run=run,
    banner='Deleting vhost "{vhost_name}" ...',
)
