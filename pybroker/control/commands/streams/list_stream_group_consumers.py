"""list_stream_group_consumers: the consumers of one group, and which of them is active."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.stream_groups import find_group
from pybroker.control.spec import Arg, Column, ColumnsArg, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterable


class Args(NamedTuple):
    """The group."""

    stream: Annotated[str, Arg("name of the stream", "--stream", "stream", names="queue")]
    reference: Annotated[str, Arg("name of the group's consumers", "--reference", "name")]
    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[Any]":
    """Return the subscriptions in the order they came, each with its group. Raises Refused."""
    group = find_group(node, find_vhost(node.broker, args.vhost), args.stream, args.reference)
    return [(member, group) for member in group.members]


def _state(found: tuple[Any, Any]) -> str:
    member, group = found
    if member is group.active:
        return "active"
    return "stepping_down" if member is group.stepping_down else "inactive"


COLUMNS = (
    Column("subscription_id", lambda m: m[0].id, "its number on its connection"),
    Column("connection_name", lambda m: m[0].channel.session.name, "name of its connection"),
    Column("connection_pid", lambda m: m[0].channel.session.pid, "id of its connection"),
    Column("state", _state, "active, inactive, or stepping_down: it has been asked to stop and has not answered"),
)

COMMAND = Command(
    name="list_stream_group_consumers",
    section="Streams",
    summary="Lists the consumers of a group, and which of them is active",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=("subscription_id", "connection_name", "state"),
    banner="Listing group consumers ...",
)
