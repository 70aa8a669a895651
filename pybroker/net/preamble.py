"""Preamble: what a newcomer passes between accept and its session: filters, one behind the other.

A door names its steps: the header of a proxy, the handshake of TLS. Each ends with `passed` or with a refusal. There is
no session yet, so a peer that stalls in a step costs its socket and little else, until its deadline, which counts from
accept. Knows neither octets nor protocols.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.line_limit import LineLimit
from pybroker.log_event import BUG, event
from pybroker.peer import connection_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.net.loop_cycle import LoopCycle
    from pybroker.net.server import Door
    from pybroker.net.transport import Transport
    from pybroker.peer import Peer

TICK_S: Final = 0.25
SECOND_MS: Final = 1_000
NEVER_MS: Final = 1 << 62

log = logging.getLogger("pybroker.connection")


class Step:
    """One step of one preamble. `waits_for` completes "timeout waiting for"."""

    __slots__ = ("preamble",)

    waits_for = ""

    def __init__(self, preamble: "Preamble") -> None:
        self.preamble = preamble

    def begin(self) -> None:
        """Mostly listen. Call one of the preamble's `passed`, `refuse` and `peer_left`, once."""
        raise NotImplementedError

    def listen(self) -> None:
        """Have `heard` called when the peer has sent something, or is gone, and there is time for it."""
        self.preamble.transport.start_reading(self._on_readable)

    def _on_readable(self) -> None:
        self.preamble.transport.stop_reading()
        self.preamble.do_later("hear", self.heard)

    def heard(self) -> None:
        """Read from `preamble.transport`, and listen again if that was not all."""
        raise NotImplementedError

    def stop(self) -> None:
        """Learn that it is over: the transport is closed or somebody else's, and nothing may be called any more."""


class Preamble:
    """One newcomer's. A step may replace `transport` and `peer`, and bring `deadline_ms` forward.

    `began` tells whether the peer has sent anything: one that has not is a health check and no fault.
    """

    __slots__ = ("_preambles", "_step", "_steps_left", "began", "deadline_ms", "door", "peer", "transport")

    def __init__(self, preambles: "Preambles", door: "Door", transport: "Transport", peer: "Peer") -> None:
        self._preambles = preambles
        self._steps_left = list(door.steps)
        self._step: Step | None = None
        self.began = False
        self.deadline_ms = peer.accepted_ms + preambles.timeout_ms()
        self.door = door
        self.transport = transport
        self.peer = peer

    @property
    def name(self) -> str:
        """Return `127.0.0.1:40000 -> 127.0.0.1:5671`, as a connection is named."""
        return connection_name(self.peer.address, self.peer.local)

    def passed(self) -> None:
        """Go on with the next step, or with the session if that was the last one."""
        self._step = None
        self.transport.silence()
        try:
            if self._steps_left:
                self._step = self._steps_left.pop(0)(self)
                self._step.begin()
            else:
                self._preambles.enter(self)
        except Exception:
            # A bug in us, or no memory: it costs this peer its connection, and the others nothing.
            log.exception("internal error: a connection was refused", extra=event(BUG))
            self._stop()
            self._preambles.forget(self)
            self.transport.close()

    def do_later(self, kind: str, call: "Callable[[], object]") -> None:
        """Have the step in which we are called when there is time for it, if it is not over then."""
        self._preambles.spare.do_later(kind, partial(self._do, self._step, call))

    def _do(self, step: Step | None, call: "Callable[[], object]") -> None:
        if step is not None and self._step is step:
            call()

    def refuse(self, reason: str) -> None:
        """End it for what the peer did; the octets that tell it why were sent, and it may read them."""
        self._end(reason)
        self._preambles.drain(self.transport)

    def peer_left(self, reason: str) -> None:
        """Learn that the peer is gone."""
        self._end(reason, fault=self.began)
        self.transport.close()

    def time_out(self) -> None:
        """Close the socket: the peer has not come to its session in time."""
        assert self._step is not None
        self._end(f"timeout waiting for {self._step.waits_for}", fault=self.began)
        self.transport.close()

    def abandon(self) -> None:
        """Close the socket, because the node stops."""
        self._stop()
        self.transport.close()

    def _end(self, reason: str, *, fault: bool = True) -> None:
        self._stop()
        self._preambles.ended(self, reason, fault=fault)

    def _stop(self) -> None:
        self.transport.silence()
        if self._step is not None:
            self._step.stop()
            self._step = None  # it knows us: nothing of OpenSSL's is to wait for the garbage collector


class Preambles:
    """All that are under way, owned by the server. `enter` makes the session, `drain` closes what was refused."""

    def __init__(
        self,
        loop: Any,
        turn: "LoopCycle",
        timeout_ms: "Callable[[], int]",
        enter: "Callable[[Door, Transport, Peer], object]",
        left: "Callable[[str], None]",
        drain: "Callable[[Transport], None]",
    ) -> None:
        self._clock = turn.clock
        self.spare = turn.spare
        self._under_way: dict[Preamble, None] = {}
        self._timer: Any = loop.timer(TICK_S, TICK_S)
        self._enter = enter
        self._left = left
        self._log_lines = LineLimit()
        self._second_ms = 0  # when it began to count
        self.timeout_ms = timeout_ms
        self.drain = drain

    def __len__(self) -> int:
        return len(self._under_way)

    def begin(self, door: "Door", transport: "Transport", peer: "Peer") -> None:
        """Lead a newcomer through the steps of its door."""
        preamble = Preamble(self, door, transport, peer)
        self._under_way[preamble] = None
        if not self._timer.active:
            self._timer.start(self._tick)
        preamble.passed()

    def enter(self, preamble: Preamble) -> None:
        """Let a newcomer in that has passed."""
        self._enter(preamble.door, preamble.transport, preamble.peer)
        del self._under_way[preamble]

    def forget(self, preamble: Preamble) -> None:
        """Count a newcomer no longer that comes to no session. Idempotent."""
        if preamble in self._under_way:
            del self._under_way[preamble]
            self._left(preamble.door.kind)

    def ended(self, preamble: Preamble, reason: str, *, fault: bool) -> None:
        """Forget a newcomer, and log why it never came to a session: so many lines a second, and how many more."""
        self.forget(preamble)
        if not fault:
            extra = event("connection.probed", connection=preamble.name)
            log.debug("closing %s connection %s: %s", preamble.door.protocol, preamble.name, reason, extra=extra)
            return
        if self._clock.now_ms - self._second_ms >= SECOND_MS:
            self._tell_of_more()
            self._second_ms = self._clock.now_ms
        if self._log_lines.allows():
            extra = event("connection.refused", connection=preamble.name)
            log.error("closing %s connection %s: %s", preamble.door.protocol, preamble.name, reason, extra=extra)

    def _tell_of_more(self) -> None:
        if more := self._log_lines.end_second():
            text = "%d more connections were closed within a second before they were open"
            log.error(text, more, extra=event("connection.flood", connections=more))

    def _tick(self) -> None:
        self._clock.refresh()
        now_ms = self._clock.now_ms
        for preamble in self._under_way:
            if preamble.deadline_ms <= now_ms:
                preamble.deadline_ms = NEVER_MS  # once
                self.spare.do_later("time out", partial(self._time_out, preamble))
        if now_ms - self._second_ms >= SECOND_MS:
            self._tell_of_more()
            if not self._under_way:
                self._timer.stop()

    def _time_out(self, preamble: Preamble) -> None:
        if preamble in self._under_way:
            preamble.time_out()

    def close(self) -> None:
        """Close all of them."""
        self._timer.stop()
        for preamble in list(self._under_way):
            preamble.abandon()
            self._left(preamble.door.kind)
        self._under_way.clear()
