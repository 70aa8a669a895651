"""Moves done to their end on a bench, with others at work in each pause."""

from pybroker.core.events.cause import BROKER
from pybroker.core.queue.move.move import Move
from tests.core.disk_log import DiskBench
from tests.readers import Bench


def finish(bench: Bench, move: Move) -> Move:
    """Do a move; others go on in each pause."""

    def pause(seconds: float) -> None:
        bench.broker.clock.advance(max(1, round(seconds * 1_000)))
        bench.turn()
        if isinstance(bench, DiskBench):
            bench.log.answer()
            bench.log.complete(bench.broker)
            bench.turn()

    for _ in move.run(pause, BROKER):
        pass
    return move


def bodies(queue) -> list[bytes]:
    return [entry.run.content(i)[-3:-1] for level in queue.backlog.levels for entry in level for i in entry.indexes]


def numbered(count: int) -> list[bytes]:
    return [b"%02d" % i for i in range(count)]
