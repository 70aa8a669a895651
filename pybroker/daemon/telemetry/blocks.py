"""Blocks: the connections that alarms hold, as rows when that begins and when it ends."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from pybroker.daemon.telemetry import rows
from pybroker.daemon.telemetry.slices import slices

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession
    from pybroker.core.broker import Broker

# Looked at in one go: a millisecond or so.
SLICE: Final = 200


class Block(NamedTuple):
    """A connection that is held: since when (wall time), for what, and how long it was held before that."""

    session: "AmqpSession"
    reason: str
    began_ms: int
    held_before_ms: int


class Blocks:
    """Connections that were found held. `write` gets the rows; `pause` as in `slices`."""

    __slots__ = ("_broker", "_held", "_looking", "_pause", "_write")

    def __init__(
        self, broker: "Broker", write: Callable[[list[rows.Row]], object], pause: Callable[[float], object]
    ) -> None:
        self._broker = broker
        self._write = write
        self._pause = pause
        self._held: dict[int, Block] = {}
        self._looking = False

    def __len__(self) -> int:
        return len(self._held)

    @property
    def are_few(self) -> bool:
        """Tell whether a look has no pause."""
        return max(len(self._broker.sessions), len(self._held)) < SLICE

    def write_changes(self) -> None:
        """Write which blocks are over, and which are new; nothing while another look is under way."""
        if self._looking:
            return
        self._looking = True
        try:
            for blocks in slices(list(self._held.values()), SLICE, self._pause):
                self._write([self._end(block) for block in blocks if not self._holds(block)])
            sessions = cast("list[AmqpSession]", list(self._broker.sessions.values()))
            for some in slices(sessions, SLICE, self._pause):
                self._write([self._begin(session) for session in some if self._is_new(session)])
        finally:
            self._looking = False

    def _holds(self, block: Block) -> bool:
        return block.session.throttle.blocked and block.session.id in self._broker.sessions

    def _end(self, block: Block) -> rows.Row:
        """Forget a block that is over; return its row."""
        del self._held[block.session.id]
        duration_ms = block.session.throttle.blocked_ms(self._broker.clock.now_ms) - block.held_before_ms
        return rows.of_block(block.session, block.reason, block.began_ms, duration_ms)

    def _is_new(self, session: "AmqpSession") -> bool:
        return session.throttle.blocked and session.id not in self._held

    def _begin(self, session: "AmqpSession") -> rows.Row:
        """Remember a block that is new; return its row."""
        clock, throttle = self._broker.clock, session.throttle
        for_ms = clock.now_ms - throttle.blocked_since_ms()
        before_ms = throttle.blocked_ms(clock.now_ms) - for_ms
        block = Block(session, throttle.last_cause, clock.timestamp_ms - for_ms, before_ms)
        self._held[session.id] = block
        return rows.of_block(session, block.reason, block.began_ms, None)
