"""retry_delayed: messages that wait for their retry are due now."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.arguments.messages import check_count
from pybroker.control.spec import EX_USAGE, Arg, Command, Node, Progress, Refused, VHostArg
from pybroker.humanize import counted

if TYPE_CHECKING:
    from collections.abc import Generator

COUNT_MAX = 1_000_000_000_000
# A share that changed nothing waits for the disk: so long, and so often at most.
WAIT_S = 0.005
WAITS_MAX = 2_000


class Args(NamedTuple):
    """The queue, and how many of its messages."""

    queue: Annotated[str, Arg("name of the queue", names="queue")]
    number: Annotated[
        int | None, Arg("number of messages at most, those due next first; default: all", "-c --count", "number")
    ] = None
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse a number that cannot be. Raises BadArguments."""
    if args.number is not None:
        check_count(args.number, COUNT_MAX)


def run(node: Node, args: Args) -> "Generator[Progress, None, dict[str, Any]]":
    """Make them due; return how many. Raises Refused for an unknown name, and for a stream."""
    queue = find_queue(find_vhost(node.broker, args.vhost), args.queue)
    if queue.retains:
        raise Refused(f"queue '{queue.name}' is a stream: none of its messages waits for a retry", EX_USAGE)
    total = queue.messages_delayed if args.number is None else min(args.number, queue.messages_delayed)
    done = waits = 0
    while queue.delayed is not None and done < total and waits < WAITS_MAX:
        count = queue.delayed.retry(total - done)
        done += count
        if not count and not queue.delayed.has_later:
            break
        yield Progress(done, total)
        node.pause(0 if count else WAIT_S)
        waits = 0 if count else waits + 1
    text = f"{counted(done, 'delayed message')} of queue '{queue.name}' {'is' if done == 1 else 'are'} due now"
    return node.result(text, queue=queue.name, vhost=args.vhost, messages=done)


COMMAND = Command(
    name="retry_delayed",
    section="Queues",
    summary="Makes messages that wait for their retry due now",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    check=check,
    banner="Making delayed messages of queue '{queue}' in vhost '{vhost}' due ...",
    examples=("pybrokerctl retry_delayed orders", "pybrokerctl retry_delayed orders --count 10"),
)
