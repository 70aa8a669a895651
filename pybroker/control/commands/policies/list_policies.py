"""list_policies: the policies of a virtual host."""

from functools import partial

from pybroker.control.arguments.policies import COLUMNS, VHostArgs, list_policies
from pybroker.control.spec import Command

COMMAND = Command(
    name="list_policies",
    section="Policies",
    summary="Lists the policies of a virtual host",
    args=VHostArgs,
    effect="read",
    access="management",
    run=partial(list_policies, "policy"),
    columns=COLUMNS,
    banner='Listing policies for vhost "{vhost}" ...',
)
