"""list_parameters: the runtime parameters of a virtual host."""

from typing import TYPE_CHECKING, Any

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.policies import VHostArgs, as_json
from pybroker.control.spec import Column, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable


def run(node: Node, args: VHostArgs) -> "Iterable[tuple[str, str, Any]]":
    """Return all but the policies, which list_policies shows, as RabbitMQ. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    return [each for each in node.broker.parameters.listed(vhost.name) if each[0] != "policy"]


COLUMNS = (
    Column("component", lambda row: row[0], "component that uses the parameter"),
    Column("name", lambda row: row[1], "name"),
    Column("value", lambda row: as_json(row[2]), "value, as JSON"),
)

COMMAND = Command(
    name="list_parameters",
    section="Parameters",
    summary="Lists the runtime parameters of a virtual host",
    args=VHostArgs,
    effect="read",
    access="policymaker",
    run=run,
    columns=COLUMNS,
    banner='Listing runtime parameters for vhost "{vhost}" ...',
)
