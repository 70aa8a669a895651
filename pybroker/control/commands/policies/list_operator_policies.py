"""list_operator_policies: the operator policies of a virtual host."""

from functools import partial

from pybroker.control.arguments.policies import COLUMNS, VHostArgs, list_policies
from pybroker.control.spec import Command

COMMAND = Command(
    name="list_operator_policies",
    section="Policies",
    summary="Lists the operator policies of a virtual host",
    args=VHostArgs,
    effect="read",
    access="management",
    run=partial(list_policies, "operator_policy"),
    columns=COLUMNS,
    banner='Listing operator policy overrides for vhost "{vhost}" ...',
)
