"""clear_vhost_limits: a virtual host may have as many connections and queues as it likes."""

from typing import NamedTuple

from pybroker.control.arguments import policies
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Changed, Command, Node, VHostArg


class Args(NamedTuple):
    """The virtual host."""

    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Clear all of them. Raises Refused, also when there are none."""
    vhost = find_vhost(node.broker, args.vhost)
    return policies.clear_parameter(node, vhost.name, "vhost-limits", "limits")


COMMAND = Command(
    name="clear_vhost_limits",
    section="Virtual hosts",
    summary="Clears the limits of a virtual host",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Clearing vhost "{vhost}" limits ...',
)
