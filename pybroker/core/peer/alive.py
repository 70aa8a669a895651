"""Alive: heartbeats both ways (AMQP §4.2.7), and the deadlines of a session: handshake, close, last output.

RabbitMQ looks for something to send at half the interval. We are called once a second, and twice for an interval so
short that this would be too late.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.peer.states import State

if TYPE_CHECKING:
    from pybroker.core.peer.session import PeerSession

TICK_MS: Final = 1_000
# Up to this interval a session is called so often.
SHORT_INTERVAL_S: Final = 4
BEAT_MS: Final = 500
# A peer whose window stays full for so long is cut off (RabbitMQ: ranch_tcp's send_timeout).
SEND_TIMEOUT_MS: Final = 30_000


def tick(session: "PeerSession") -> None:
    """Do what is due by the clock."""
    now_ms = session.broker.clock.now_ms
    if session.state is not State.RUNNING:
        if now_ms >= session.deadline_ms and not session.close_now:
            session.cut_off(f"timeout waiting for {session.close_answer}" if session.closing else "handshake_timeout")
        return
    if not session.readable:
        session.found_unread(now_ms)
        session.heed_pauses()
        if not session.peer_alive():
            # Unread octets hide the end of the stream.
            session.cut_off("client unexpectedly closed TCP connection")
            return
    session.forget_published(now_ms)
    session.watch_deliveries(now_ms)
    beat(session, TICK_MS)


def beat(session: "PeerSession", period_ms: int) -> None:
    """Send a heartbeat where nothing else was sent, and cut off a peer that is silent or does not read.

    `period_ms` is how often this is called: a heartbeat leaves half of that before its time rather than after it.
    """
    interval_ms = session.heartbeat_s * 1000
    if not interval_ms or session.state is not State.RUNNING:
        # Differs from RabbitMQ: without heartbeats a peer may leave its window full for longer than 30 seconds.
        return
    now_ms = session.broker.clock.now_ms
    # Octets that wait to be sent do as well, and a peer that never reads would be sent one more each second.
    if now_ms - session.last_send_ms >= (interval_ms - period_ms) // 2 and not session.send_pend:
        session.send(session.heartbeat)
    if session.readable and now_ms - session.last_recv_ms > 2 * interval_ms:
        session.cut_off(f"missed heartbeats from client, timeout: {session.heartbeat_s}s")
    elif session.unsent_octets and now_ms - session.last_send_ms >= SEND_TIMEOUT_MS:
        session.cut_off(f"client has not read for {SEND_TIMEOUT_MS // 1000}s")
