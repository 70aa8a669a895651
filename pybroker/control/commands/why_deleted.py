"""why_deleted: when a queue vanished, why, and who did it. The audit log knows."""

from itertools import islice
from typing import Annotated, Any, Final, NamedTuple

from pybroker.control.spec import Arg, Command, Node, Refused, VHostArg
from pybroker.control.trail import Wanted, entries, printable

DELETIONS_MAX: Final = 10


class Args(NamedTuple):
    """The queue that is not there."""

    queue: Annotated[str, Arg("name of the queue that was")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> dict[str, Any]:
    """Tell of the last deletion of a queue of this name. Raises Refused when the audit log knows of none."""
    wanted = Wanted("queue.deleted", args.queue, args.vhost)
    found = list(islice(entries(node.daemon.audit_lines(node.pause), wanted), DELETIONS_MAX))
    vhost = node.broker.vhosts.get(args.vhost)
    exists = vhost is not None and args.queue in vhost.queues
    if not found:
        is_there = "It is there." if exists else "If it ever was, that stands in an older audit log."
        raise Refused(f"The audit log knows of no deletion of queue '{args.queue}' in vhost '{args.vhost}'. {is_there}")
    lines = [_sentence(found[0], args)]
    if len(found) > 1:
        lines.append("Before that:")
        lines += [f"  {_when(entry)}  {printable(entry.get('cause'))}" for entry in found[1:]]
    if exists:
        lines.append("A queue of this name is there again.")
    return node.tell("\n".join(lines), exists=exists, deletions=found)


def _when(entry: dict[str, Any]) -> str:
    return printable(entry.get("time", "")).replace("T", " ")[:19]


def _sentence(entry: dict[str, Any], args: Args) -> str:
    cause, user, peer = (printable(entry.get(key, "")) for key in ("cause", "user", "peer"))
    facts = entry.get("facts")
    messages = facts.get("messages", 0) if isinstance(facts, dict) else 0
    match cause.partition(" ")[0]:
        case "client":
            by = f"by user '{user}' from {peer}"
        case "command":
            by = f"by an operator, {peer}: {cause}"
        case _:
            by = f"({cause}; {printable(entry.get('connection'))})" if peer else f"({cause})"
    with_it = f" {messages:,} message{'' if messages == 1 else 's'} went with it." if messages else ""
    queue, vhost = printable(args.queue), printable(args.vhost)
    return f"Queue '{queue}' in vhost '{vhost}' was deleted at {_when(entry)} UTC {by}.{with_it}"


COMMAND = Command(
    name="why_deleted",
    section="Monitoring",
    summary="Tells when a queue was deleted, why, and by whom; the audit log knows",
    args=Args,
    effect="read",
    run=run,
    banner="Asking node {node} what became of queue '{queue}' in vhost '{vhost}' ...",
    app="any",
)
