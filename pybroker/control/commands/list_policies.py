"""list_policies: the policies of a virtual host."""

from typing import TYPE_CHECKING

from pybroker.control import policies
from pybroker.control.policies import COLUMNS, VHostArgs
from pybroker.control.spec import Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.policy import Policy


def run(node: Node, args: VHostArgs) -> "Iterable[Policy]":
    """Return them, the one that counts before all others last. Raises Refused."""
    return policies.listed(node, "policy", args.vhost)


COMMAND = Command(
    name="list_policies",
    section="Policies",
    summary="Lists the policies of a virtual host",
    args=VHostArgs,
    effect="read",
    run=run,
    columns=COLUMNS,
    banner='Listing policies for vhost "{vhost}" ...',
)
