"""set_policy: what is said of all queues or exchanges whose names fit a pattern."""

from collections.abc import Generator

from pybroker.control import policies
from pybroker.control.policies import SetArgs
from pybroker.control.spec import Command, Node, Progress


def run(node: Node, args: SetArgs) -> Generator[Progress, None, str | None]:
    """Set it; it counts at once, also for messages that wait. Raises Refused."""
    return policies.set_policy(node, "policy", args)


COMMAND = Command(
    name="set_policy",
    section="Policies",
    summary="Sets a policy for the queues and exchanges whose names fit a pattern",
    args=SetArgs,
    effect="write",
    run=run,
    banner='Setting policy "{name}" for pattern "{pattern}" to "{definition}" '
    'with priority "{priority}" for vhost "{vhost}" ...',
)
