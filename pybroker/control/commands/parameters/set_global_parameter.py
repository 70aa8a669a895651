"""set_global_parameter: a parameter of the whole node."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments import policies
from pybroker.control.arguments.names import check_name
from pybroker.control.spec import Arg, Changed, Command, Node


class Args(NamedTuple):
    """Name and value."""

    name: Annotated[str, Arg("name of the parameter")]
    value: Annotated[str, Arg("its value: JSON", secret=True)]


def check(args: Args) -> None:
    """Refuse a name that is too long. Raises BadArguments."""
    check_name("a parameter", args.name)


def run(node: Node, args: Args) -> Changed:
    """Set it. Raises Refused."""
    return Changed(node.broker.parameters.set_global(args.name, policies.read_json(node, args.value), node.cause))


COMMAND = Command(
    name="set_global_parameter",
    section="Parameters",
    summary="Sets a global runtime parameter; cluster_name is one",
    args=Args,
    effect="write",
    access="policymaker",
    run=run,
    check=check,
    banner='Setting global runtime parameter "{name}" to "{value}" ...',
)
