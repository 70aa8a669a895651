"""Every session has its tick, but not all in one turn; a fault of one is its own."""

from pybroker.core.channel.session_sweeper import TURN_SESSIONS_MAX
from tests.topology import new_vhost


class Ticking:
    times = 0
    fails = False

    def tick(self) -> None:
        self.times += 1
        if self.fails:
            raise ZeroDivisionError


def crowd(count: int):
    broker = new_vhost().broker
    sessions = [Ticking() for _ in range(count)]
    broker.sessions.update(enumerate(sessions))
    return broker, sessions


def test_few_sessions_have_their_tick_at_once():
    broker, sessions = crowd(TURN_SESSIONS_MAX)
    broker.tick()
    assert [1] * TURN_SESSIONS_MAX == [session.times for session in sessions]
    assert not broker.turn.queues


def test_of_very_many_each_turn_serves_some():
    broker, sessions = crowd(3 * TURN_SESSIONS_MAX)
    broker.tick()
    for turn in (1, 2, 3):
        assert turn * TURN_SESSIONS_MAX == sum(session.times for session in sessions)
        broker.pump()
    assert not broker.turn.queues


def test_who_still_waits_for_the_last_tick_is_not_asked_twice():
    broker, sessions = crowd(2 * TURN_SESSIONS_MAX)
    broker.tick()
    broker.tick()
    while broker.turn.queues:
        broker.pump()
    assert {1} == {session.times for session in sessions}


def test_a_session_whose_tick_fails_leaves_the_others_their_heartbeats(caplog):
    broker, sessions = crowd(3)
    sessions[0].fails = True
    broker.tick()
    assert [1, 1, 1] == [session.times for session in sessions]
    assert "ZeroDivisionError" in caplog.text
