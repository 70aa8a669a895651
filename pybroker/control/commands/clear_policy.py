"""clear_policy: forget a policy."""

from collections.abc import Generator

from pybroker.control import policies
from pybroker.control.policies import ClearArgs
from pybroker.control.spec import Command, Node, Progress


def run(node: Node, args: ClearArgs) -> Generator[Progress, None, None]:
    """Clear it; what it fitted is under the next one at once. Raises Refused."""
    return policies.clear_policy(node, "policy", args)


COMMAND = Command(
    name="clear_policy",
    section="Policies",
    summary="Clears a policy",
    args=ClearArgs,
    effect="write",
    run=run,
    banner='Clearing policy "{name}" on vhost "{vhost}" ...',
)
