"""clear_global_parameter: forget a parameter of the whole node."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.policies import NOT_SET
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Changed, Command, Node, Refused


class Args(NamedTuple):
    """Its name."""

    name: Annotated[str, Arg("name of the parameter")]


def run(node: Node, args: Args) -> Changed:
    """Clear it. Raises Refused."""
    commit_position = node.broker.parameters.clear_global(args.name, node.cause)
    if commit_position is None:
        raise Refused(NOT_SET, EX_UNAVAILABLE)
    return Changed(commit_position)


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
