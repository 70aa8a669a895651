"""set_operator_policy: what is said of all queues or exchanges whose names fit a pattern, by the operator."""

from collections.abc import Generator

from pybroker.control import policies
from pybroker.control.policies import SetArgs
from pybroker.control.spec import Command, Node, Progress


def run(node: Node, args: SetArgs) -> Generator[Progress, None, str | None]:
    """Set it; it counts at once, also for messages that wait. Raises Refused."""
    return policies.set_policy(node, "operator_policy", args)


COMMAND = Command(
    name="set_operator_policy",
    section="Policies",
    summary="Sets an operator policy, which wins against users' policies and arguments of clients",
    args=SetArgs,
    effect="write",
    run=run,
    banner='Setting operator policy override "{name}" for pattern "{pattern}" to "{definition}" '
    'with priority "{priority}" for vhost "{vhost}" ...',
)
