"""clear_policy: forget a policy."""

from functools import partial

from pybroker.control.arguments.policies import ClearArgs, clear_policy, would
from pybroker.control.spec import Command

COMMAND = Command(
    name="clear_policy",
    section="Policies",
    summary="Clears a policy",
    args=ClearArgs,
    effect="write",
    access="policymaker",
    run=partial(clear_policy, "policy"),
    banner=would('Clearing policy "{name}" on vhost "{vhost}" ...'),
)
