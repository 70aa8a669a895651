"""activate_stream_consumer: have a group go on whose consumer does not answer."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.stream_groups import find_group
from pybroker.control.spec import Arg, Changed, Command, Node, VHostArg


class Args(NamedTuple):
    """The group."""

    stream: Annotated[str, Arg("name of the stream", "--stream", "stream", names="queue")]
    reference: Annotated[str, Arg("name of the group's consumers", "--reference", "name")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Activate the consumer whose turn it is, if another one has been asked to stop. Raises Refused."""
    group = find_group(node, find_vhost(node.broker, args.vhost), args.stream, args.reference)
    member, text = group.stepping_down, "it waits for nobody"
    if member is not None:
        group.stepped_down(member)
        text = "a consumer was activated, though another one may not have stopped"
    return Changed(0, f"Group '{args.reference}' of stream '{args.stream}': {text}")


COMMAND = Command(
    name="activate_stream_consumer",
    section="Streams",
    summary="Activates a consumer of a group that waits for another one to stop",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Activating a consumer in the group ...",
)
