"""resume_consumer: deliver to a paused consumer again."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.pauses import find_consumer
from pybroker.control.commands.queues.pause_consumer import ConnectionArg, QueueArg
from pybroker.control.spec import Arg, Command, Node, Refused, VHostArg


class Args(NamedTuple):
    """The consumer."""

    consumer_tag: Annotated[str, Arg("consumer tag, as list_consumers shows it")]
    queue: QueueArg = None
    connection: ConnectionArg = None
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> str:
    """Resume it. Raises Refused when there is no such consumer, or several, or it is not paused."""
    consumer = find_consumer(find_vhost(node.broker, args.vhost), args.consumer_tag, args.queue, args.connection)
    if consumer.paused is None:
        raise Refused(f"consumer '{consumer.tag}' of queue '{consumer.queue.name}' is not paused")
    node.broker.pauses.resume_consumer(consumer, node.cause)
    return f"Consumer '{consumer.tag}' of queue '{consumer.queue.name}' was resumed"


COMMAND = Command(
    name="resume_consumer",
    section="Queues",
    summary="Lets a paused consumer continue",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Resuming consumer '{consumer_tag}' in vhost '{vhost}' ...",
)
