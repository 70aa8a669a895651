"""list_global_parameters: the parameters of the whole node."""

from typing import TYPE_CHECKING, Any

from pybroker.control.arguments.policies import as_json
from pybroker.control.spec import Column, Command, NoArgs, Node

if TYPE_CHECKING:
    from collections.abc import Iterable


def run(node: Node, args: NoArgs) -> "Iterable[tuple[str, Any]]":
    """Return them in the order they were set."""
    del args
    return list(node.broker.parameters.globals.items())


COLUMNS = (
    Column("name", lambda row: row[0], "name"),
    Column("value", lambda row: as_json(row[1]), "value, as JSON"),
)

COMMAND = Command(
    name="list_global_parameters",
    section="Parameters",
    summary="Lists the global runtime parameters",
    args=NoArgs,
    effect="read",
    access="policymaker",
    run=run,
    columns=COLUMNS,
    banner="Listing global runtime parameters ...",
)
