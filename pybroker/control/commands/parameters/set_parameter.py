"""set_parameter: a runtime parameter of a virtual host."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments import policies
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Changed, Command, Node, Refused, VHostArg


class Args(NamedTuple):
    """The parameter and its value."""

    component_name: Annotated[str, Arg("component that uses the parameter")]
    name: Annotated[str, Arg("name of the parameter")]
    value: Annotated[str, Arg("its value: JSON", secret=True)]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Set it; it counts at once. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    if args.component_name == "policy":
        raise Refused("policies may not be set using this method", EX_UNAVAILABLE)
    value = policies.read_json(node, args.value)
    return policies.set_parameter(node, vhost.name, args.component_name, args.name, value)


COMMAND = Command(
    name="set_parameter",
    section="Parameters",
    summary="Sets a runtime parameter of a virtual host",
    args=Args,
    effect="write",
    access="policymaker",
    run=run,
    banner='Setting runtime parameter "{name}" for component "{component_name}" to "{value}" in vhost "{vhost}" ...',
)
