"""list_policies_that_match: which policies fit a queue or exchange."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_exchange, find_queue, find_vhost
from pybroker.control.arguments.policies import COLUMNS
from pybroker.control.spec import Arg, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.policy.policy import Policy


class Args(NamedTuple):
    """A queue or exchange."""

    name: Annotated[str, Arg("name of the queue or exchange")]
    object_type: Annotated[
        str, Arg("kind of the entity: queue or exchange", "--object-type", "type", choices=("queue", "exchange"))
    ] = "queue"
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[Policy]":
    """Return matching policies; the first one is in force. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    noun = find_queue(vhost, args.name) if args.object_type == "queue" else find_exchange(vhost, args.name)
    return node.broker.policies.matching(noun, "policy")


COMMAND = Command(
    name="list_policies_that_match",
    section="Policies",
    summary="Lists the policies that match a queue or exchange; only the first one applies",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    banner="Listing policies that match {object_type} '{name}' in vhost '{vhost}' ...",
)
