"""Moves of messages on behalf of commands: what is told meanwhile, and how they end."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.arguments.lookup import find_queue
from pybroker.control.arguments.messages import check_count
from pybroker.control.arguments.rates import parse_rate
from pybroker.control.spec import (
    EX_DATAERR,
    EX_TEMPFAIL,
    EX_UNAVAILABLE,
    EX_USAGE,
    Node,
    Progress,
    Refused,
    progress_of,
)
from pybroker.humanize import counted

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Generator

    from pybroker.core.queue.move.move import Move
    from pybroker.core.queue.move.source import Stop
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost

COUNT_MAX: Final = 1_000_000_000_000


def check_limits(number: int | None, rate: str | None) -> None:
    """Refuse a number of messages, or a rate, that cannot be. Raises BadArguments."""
    if number is not None:
        check_count(number, COUNT_MAX)
    if rate is not None:
        parse_rate(rate)


def carry_out(node: Node, move: "Move", **facts: Any) -> "Generator[Progress, None, dict[str, Any]]":
    """Move the messages; return the answer. Raises Refused with what was moved, where it ended early."""
    yield from progress_of(move.run(_pause(node, move), node.cause))
    facts |= {"messages": move.messages, "messages_delayed": move.staying}
    if move.stop is not None:
        text = f"{moved(move.messages)}, then it stopped: {move.stop.text}" if move.messages else move.stop.text
        raise Refused(text, _exit_code(move.stop), facts)
    return node.result(moved(move.messages) + stay(move), **facts, dry_run=False)


def rehearse(node: Node, move: "Move", *lines: str, **facts: Any) -> dict[str, Any]:
    """Return the answer of a dry run: what would go, and `lines`. Raises Refused as the move would."""
    facts |= {"messages": move.messages, "messages_delayed": move.staying, "dry_run": True}
    text = f"{counted(move.messages, 'message')} would be moved"
    if move.stop is None:
        return node.result("\n".join([text + stay(move), *lines]), **facts)
    text = f"{text}, then it would stop: {move.stop.text}" if move.messages else move.stop.text
    raise Refused("\n".join([text, *lines]), _exit_code(move.stop), facts)


def find_source(vhost: "VHost", name: str) -> "Queue":
    """Return the queue from which messages are to be moved. Raises Refused: there is none, or it is a stream."""
    queue = find_queue(vhost, name)
    if queue.retains:
        raise Refused(f"queue '{name}' is a stream: its messages stay there, so none can be moved", EX_USAGE)
    return queue


def refuse_obstacle(move: "Move") -> None:
    """Refuse a move that cannot begin. Raises Refused."""
    stop = move.obstacle()
    if stop is not None:
        raise Refused(stop.text, _exit_code(stop))


def survey(node: Node, move: "Move") -> "Generator[Progress, None, Counter[tuple[str, ...]]]":
    """Count the messages that are to go, by label; the move knows which would. Raises Refused: the node stops."""
    return (yield from progress_of(move.survey(_pause(node, move))))


def _exit_code(stop: "Stop") -> int:
    return EX_TEMPFAIL if stop.temporary else EX_DATAERR


def _pause(node: Node, move: "Move") -> "Callable[[float], None]":
    """Return a pause that ends the move if the node stops meanwhile: its log is closed then."""

    def pause(seconds: float) -> None:
        node.pause(seconds)
        if not node.daemon.app_running:
            raise Refused(f"{moved(move.messages)}, then the node stopped", EX_UNAVAILABLE, {"messages": move.messages})

    return pause


def stay(move: "Move") -> str:
    """Return how many messages a move leaves in its source because they are not ready."""
    stays = "stays" if move.staying == 1 else "stay"
    return f"; {counted(move.staying, 'delayed message')} {stays}" if move.staying else ""


def moved(messages: int) -> str:
    """Return how many were moved, for people."""
    return f"{counted(messages, 'message')} moved"
