"""list_operator_policies: the operator policies of a virtual host."""

from typing import TYPE_CHECKING

from pybroker.control import policies
from pybroker.control.policies import COLUMNS, VHostArgs
from pybroker.control.spec import Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.policy import Policy


def run(node: Node, args: VHostArgs) -> "Iterable[Policy]":
    """Return them, the one that counts before all others last. Raises Refused."""
    return policies.listed(node, "operator_policy", args.vhost)


COMMAND = Command(
    name="list_operator_policies",
    section="Policies",
    summary="Lists the operator policies of a virtual host",
    args=VHostArgs,
    effect="read",
    run=run,
    columns=COLUMNS,
    banner='Listing operator policy overrides for vhost "{vhost}" ...',
)
