"""Invariants: what is true of a running node at any moment between two calls."""

from typing import TYPE_CHECKING

from tests.store.simulator.violation import Violation

if TYPE_CHECKING:
    from pybroker.store.journal.journal import Journal
    from tests.store.simulator.model import Model
    from tests.store.simulator.node import Node
    from tests.store.simulator.traffic import Traffic


def check_running(node: "Node", model: "Model", traffic: "Traffic | None") -> None:
    """Raise Violation if something is wrong with a node: with its counts too, while no error has left them in doubt."""
    log, fault = node.log, node.fault
    if node.ended and not fault.hit:
        raise Violation("ended", f"the node ends without an error: {node.failures}")
    if log is None:
        return
    if log.completed > log.last_commit_position:
        raise Violation(
            "confirmed", f"commit position {log.completed} is completed, {log.last_commit_position} was the last"
        )
    if log.failed and not node.failures:
        raise Violation("silent failure", log.failed)
    for text in node.unreadable:
        # A page that stays is gone with the next start.
        if not fault.hit or (fault.shortage and not text.startswith("cannot remove a page file")):
            raise Violation("damage", text)
    if log.failed or log.commit_position or log.is_closing or traffic is None or not traffic.clean or fault.hit:
        return
    counts = _counted(log)
    for queue_id, messages in model.queues.items():
        if queue_id not in model.deleted:
            expected = sum(message.there for message in messages.values())
            if counts.get(queue_id, 0) != expected:
                raise Violation("live", f"queue {queue_id}: {counts.get(queue_id, 0)} counted, {expected} there")


def _counted(log: "Journal") -> dict[int, int]:
    """Return how many messages the log counts as live, by queue."""
    counts: dict[int, int] = {}
    for segment in log.live_index.segments:
        live = 0
        for queue_id, count in segment.pairs.items():
            live += count
            counts[queue_id] = counts.get(queue_id, 0) + count
            if count < 0:
                raise Violation("live", f"segment {segment.number}: {count} of queue {queue_id}")
        if live != segment.live:
            raise Violation("live", f"segment {segment.number}: {segment.live}, by queue {segment.pairs}")
    return counts


def check_rest(node: "Node", waiting: int) -> None:
    """Raise Violation if a node that has nothing to do any more still waits for something, `waiting` for reads."""
    log, fault = node.log, node.fault
    assert log is not None
    if log.full:
        raise Violation("stuck", f"the log stays full: {log.full}")
    if log.commit_position or log.completed != log.last_commit_position:
        last, gathers = log.last_commit_position, log.commit_position
        text = f"{log.completed} of {last} completed, {gathers} gathers, fault {fault.hit}"
        raise Violation("stuck", f"{text}, swallowed {node.swallowed}")
    if node.store.completed != node.store.commit_position:
        text = f"definitions: {node.store.completed} of {node.store.commit_position} completed"
        raise Violation("stuck", f"{text}, fault {fault.hit}, swallowed {node.swallowed}")
    if waiting:
        raise Violation("stuck", f"{waiting} reads have no answer, fault {fault.hit}")
    _check_streams_rest(node)


def _check_streams_rest(node: "Node") -> None:
    assert node.streams is not None
    mine = node.streams.broker.streams
    for what in (list(mine.busy()), mine.uncommitted, mine.straight._batch, mine.straight._writes):
        if what:
            raise Violation("stream stuck", f"{what}, fault {node.fault.hit}, swallowed {node.swallowed}")
    pending = sum(stream.pending for stream in node.streams.streams.values())
    if mine.pending != pending:
        raise Violation("stream count", f"{mine.pending} octets have not moved, of the streams {pending}")
    for stream in node.streams.streams.values():
        if stream.next_offset != stream.end_offset:
            raise Violation("stream stuck", f"{stream!r} has {stream.end_offset}, readers {stream.next_offset}")
