"""pause_consumer: deliver nothing more to one consumer until it is resumed."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.pauses import check_reason, find_consumer, was_paused
from pybroker.control.spec import Arg, Command, Node, VHostArg

QueueArg = Annotated[
    str | None, Arg("its queue, where several consumers have the tag", "--queue", "queue", names="queue")
]
ConnectionArg = Annotated[
    str | None,
    Arg(
        "id or name of its connection, where several consumers have the tag",
        "--connection",
        "connection",
        names="connection",
    ),
]


class Args(NamedTuple):
    """The consumer, and why."""

    consumer_tag: Annotated[str, Arg("consumer tag, as list_consumers shows it")]
    why: Annotated[str, Arg("reason, shown to everybody who wonders", "--why", "reason")]
    queue: QueueArg = None
    connection: ConnectionArg = None
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> str:
    """Pause it. Raises Refused when there is no such consumer, or several."""
    consumer = find_consumer(find_vhost(node.broker, args.vhost), args.consumer_tag, args.queue, args.connection)
    before = consumer.paused
    node.broker.pauses.pause_consumer(consumer, args.why, node.cause)
    text = (
        f"Consumer '{consumer.tag}' of queue '{consumer.queue.name}' is paused until it is resumed, "
        "or its client subscribes again or reconnects"
    )
    return text if before is None else f"{text}. {was_paused(before)}"


COMMAND = Command(
    name="pause_consumer",
    section="Queues",
    summary="Pauses one consumer until it is resumed, or its client subscribes again or reconnects",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Pausing consumer '{consumer_tag}' in vhost '{vhost}' ...",
    check=lambda args: check_reason(args.why),
)
