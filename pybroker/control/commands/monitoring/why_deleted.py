"""why_deleted: when a queue vanished, why, and by whose action. The audit log knows.

A transient queue is not deleted when the node ends: it is just gone after the next start. This is reported too, if the
queue's declaration is in the log.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, NamedTuple

from pybroker.control.audit_reader import Wanted, entries, printable
from pybroker.control.spec import Arg, Command, Node, Refused, VHostArg

DELETIONS_MAX: Final = 10


class Args(NamedTuple):
    """The queue that is not there."""

    queue: Annotated[str, Arg("name of the deleted queue")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> dict[str, Any]:
    """Tell of the last end of a queue of this name. Raises Refused when the audit log knows of none."""
    told = entries(node.daemon.audit_lines(node.pause), Wanted("queue", args.queue, args.vhost))
    history = [entry for entry in told if entry["event"] in {"queue.created", "queue.deleted"}]
    found = [entry for entry in history if entry["event"] == "queue.deleted"][:DELETIONS_MAX]
    vhost = node.broker.vhosts.get(args.vhost)
    exists = vhost is not None and args.queue in vhost.queues
    lost = None if exists or not history else _lost(node, history[0])
    if lost is not None:
        lines, before = [_lapse(lost, args)], found
    elif found:
        lines, before = [_sentence(found[0], args)], found[1:]
    else:
        tail = "The queue exists." if exists else _general(node)
        raise Refused(f"The audit log contains no deletion of queue '{args.queue}' in vhost '{args.vhost}'. {tail}")
    if before:
        lines.append("Before that:")
        lines += [f"  {_when(entry)}  {printable(entry.get('cause'))}" for entry in before]
    if exists:
        lines.append("A queue of this name exists again.")
    return node.result("\n".join(lines), exists=exists, deletions=found, lost=lost)


def _lost(node: Node, newest: dict[str, Any]) -> dict[str, Any] | None:
    """Return what tells that a queue ended with the node; None if its newest entry is of something else."""
    facts = newest.get("facts")
    if newest["event"] != "queue.created" or not isinstance(facts, dict):
        return None
    kind = "exclusive" if facts.get("exclusive") else "" if facts.get("durable") else "transient"
    starts = list(_starts(node, str(newest.get("time", ""))))
    if not kind or not starts:
        return None
    return {"kind": kind, "declared": newest, "started": starts[-1]}


def _starts(node: Node, since: str) -> Iterator[dict[str, Any]]:
    """Yield the node's starts from the last one back."""
    wanted = Wanted("node.started", node.broker.settings.node_name, since=since)
    return entries(node.daemon.audit_lines(node.pause), wanted)


def _lapse(lost: dict[str, Any], args: Args) -> str:
    declared = lost["declared"]
    queue, vhost = printable(args.queue), printable(args.vhost)
    user, peer = printable(declared.get("user", "")), printable(declared.get("peer", ""))
    return (
        f"Queue '{queue}' in vhost '{vhost}' was {lost['kind']}, so it was deleted when the node restarted at "
        f"{_when(lost['started'])} UTC. It had been declared at {_when(declared)} UTC by user '{user}' from "
        f"{peer}."
    )


def _general(node: Node) -> str:
    started = next(_starts(node, ""), None)
    when = "" if started is None else f"; it last started at {_when(started)} UTC"
    older = "An earlier deletion may be in an older audit log"
    return f"{older}. Transient and exclusive queues are deleted when the node stops{when}."


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
    with_it = f" {messages:,} message{'' if messages == 1 else 's'} were deleted with it." if messages else ""
    queue, vhost = printable(args.queue), printable(args.vhost)
    return f"Queue '{queue}' in vhost '{vhost}' was deleted at {_when(entry)} UTC {by}.{with_it}"


COMMAND = Command(
    name="why_deleted",
    section="Monitoring",
    summary="Displays when, why and by whom a queue was deleted, from the audit log",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    banner="Asking node {node} for deletions of queue '{queue}' in vhost '{vhost}' ...",
    app="any",
)
