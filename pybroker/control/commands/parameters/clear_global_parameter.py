"""clear_global_parameter: forget a parameter of the whole node."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.policies import cleared
from pybroker.control.spec import Arg, Changed, Command, Node


class Args(NamedTuple):
    """Its name."""

    name: Annotated[str, Arg("name of the parameter")]


def run(node: Node, args: Args) -> Changed:
    """Clear it. Raises Refused, also when it is not set."""
    return cleared(node.broker.parameters.clear_global(args.name, node.cause))


COMMAND = Command(
    name="clear_global_parameter",
    section="Parameters",
    summary="Clears a global runtime parameter",
    args=Args,
    effect="write",
    access="policymaker",
    run=run,
    banner='Clearing global runtime parameter "{name}" ...',
)
