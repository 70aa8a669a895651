"""Moves of messages on behalf of commands: what is told meanwhile, and how they end."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.arguments.messages import check_count
from pybroker.control.arguments.rates import parse_rate
from pybroker.control.humanize import counted
from pybroker.control.spec import EX_DATAERR, EX_TEMPFAIL, EX_UNAVAILABLE, Node, Progress, Refused

if TYPE_CHECKING:
    from collections.abc import Generator

    from pybroker.core.queue.move.move import Move

COUNT_MAX: Final = 1_000_000_000_000


def check_limits(number: int | None, rate: str | None) -> None:
    """Refuse a number of messages, or a rate, that cannot be. Raises BadArguments."""
    if number is not None:
        check_count(number, COUNT_MAX)
    if rate is not None:
        parse_rate(rate)


def carry_out(node: Node, move: "Move", **facts: Any) -> "Generator[Progress, None, dict[str, Any]]":
    """Move the messages; return the answer. Raises Refused with what was moved, where it ended early."""

    def pause(seconds: float) -> None:
        node.pause(seconds)
        if not node.daemon.app_running:
            raise Refused(f"{moved(move.messages)}, then the node stopped", EX_UNAVAILABLE, facts_now())

    def facts_now() -> dict[str, Any]:
        return {**facts, "messages": move.messages}

    for done, total in move.run(pause, node.cause):
        yield Progress(done, total)
    if move.stop is not None:
        text = f"{moved(move.messages)}, then it stopped: {move.stop.text}" if move.messages else move.stop.text
        raise Refused(text, EX_TEMPFAIL if move.stop.temporary else EX_DATAERR, facts_now())
    return node.result(moved(move.messages), **facts_now(), dry_run=False)


def moved(messages: int) -> str:
    """Return how many were moved, for people."""
    return f"{counted(messages, 'message')} moved"
