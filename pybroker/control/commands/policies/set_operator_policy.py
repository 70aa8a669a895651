"""set_operator_policy: set the operator's policy for all queues or exchanges whose names match a pattern."""

from functools import partial

from pybroker.control.arguments.policies import SetArgs, check_set, set_policy, would
from pybroker.control.spec import Command

COMMAND = Command(
    name="set_operator_policy",
    section="Policies",
    summary="Sets an operator policy, which overrides users' policies and clients' arguments",
    args=SetArgs,
    effect="write",
    access="administrator",
    run=partial(set_policy, "operator_policy"),
    check=check_set,
    banner=would(
        'Setting operator policy override "{name}" for pattern "{pattern}" to "{definition}" '
        'with priority "{priority}" for vhost "{vhost}" ...'
    ),
)
