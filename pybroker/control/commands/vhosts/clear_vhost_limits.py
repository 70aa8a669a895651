"""clear_vhost_limits: a virtual host may have as many connections and queues as it likes."""

from typing import NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.policies import NOT_SET
from pybroker.control.spec import EX_UNAVAILABLE, Command, Node, Refused, VHostArg


class Args(NamedTuple):
    """The virtual host."""

    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> None:
    """Clear all of them. Raises Refused, also when there are none."""
    vhost = find_vhost(node.broker, args.vhost)
    if not node.broker.parameters.clear(vhost.name, "vhost-limits", "limits"):
        raise Refused(NOT_SET, EX_UNAVAILABLE)


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
