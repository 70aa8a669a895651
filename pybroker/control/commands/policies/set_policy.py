"""set_policy: set a policy for all queues or exchanges whose names match a pattern."""

from functools import partial

from pybroker.control.arguments.policies import SetArgs, check_set, set_policy, would
from pybroker.control.spec import Command

COMMAND = Command(
    name="set_policy",
    section="Policies",
    summary="Sets a policy for the queues and exchanges whose names match a pattern",
    args=SetArgs,
    effect="write",
    access="policymaker",
    run=partial(set_policy, "policy"),
    check=check_set,
    banner=would(
        'Setting policy "{name}" for pattern "{pattern}" to "{definition}" '
        'with priority "{priority}" for vhost "{vhost}" ...'
    ),
)
