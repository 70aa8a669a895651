"""set_vhost_limits: how many connections and queues a virtual host may have."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments import policies
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node, VHostArg


class Args(NamedTuple):
    """The virtual host and the limits."""

    definition: Annotated[str, Arg("limits, a JSON object of max-connections and max-queues; -1 for none")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Replace the limits; connections and queues over a limit stay. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    value = policies.read_json(node, args.definition)
    return policies.set_parameter(node, vhost.name, "vhost-limits", "limits", value)


COMMAND = Command(
    name="set_vhost_limits",
    section="Virtual hosts",
    summary="Limits the connections and queues of a virtual host",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Setting vhost limits to "{definition}" for vhost "{vhost}" ...',
)
