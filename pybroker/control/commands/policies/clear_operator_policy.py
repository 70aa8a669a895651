"""clear_operator_policy: forget an operator policy."""

from functools import partial

from pybroker.control.arguments.policies import ClearArgs, clear_policy, would
from pybroker.control.spec import Command

COMMAND = Command(
    name="clear_operator_policy",
    section="Policies",
    summary="Clears an operator policy",
    args=ClearArgs,
    effect="write",
    access="administrator",
    run=partial(clear_policy, "operator_policy"),
    banner=would('Clearing operator policy "{name}" on vhost "{vhost}" ...'),
)
