"""clear_parameter: forget a runtime parameter of a virtual host."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments import policies
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Changed, Command, Node, Refused, VHostArg


class Args(NamedTuple):
    """The parameter."""

    component_name: Annotated[str, Arg("component that uses the parameter")]
    name: Annotated[str, Arg("name of the parameter")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Clear it. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    if args.component_name == "policy":
        raise Refused("policies may not be cleared using this method", EX_UNAVAILABLE)
    return policies.clear_parameter(node, vhost.name, args.component_name, args.name)


COMMAND = Command(
    name="clear_parameter",
    section="Parameters",
    summary="Clears a runtime parameter of a virtual host",
    args=Args,
    effect="write",
    access="policymaker",
    run=run,
    banner='Clearing runtime parameter "{name}" for component "{component_name}" on vhost "{vhost}" ...',
)
