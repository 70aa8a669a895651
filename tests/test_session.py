from pybroker.session import Session, Turn


def test_a_session_with_output_joins_the_turn_once():
    turn = Turn()
    session = Session(turn)
    session.mark_dirty()
    session.mark_dirty()
    assert turn.sessions == [session]
    assert turn.woken


def test_who_joins_a_woken_turn_does_not_wake_it_again():
    class Counting(Turn):
        calls = 0

        def wake(self) -> None:
            self.calls += 1
            self.woken = True

    turn = Counting()
    for _ in range(3):
        Session(turn).mark_dirty()
    assert turn.calls == 1
    assert len(turn.sessions) == 3


def test_a_new_session_may_be_read_and_is_not_over():
    session = Session(Turn())
    assert (session.readable, session.closing, session.finished, session.peer_alive()) == (True, False, False, True)


def test_a_session_that_cannot_even_be_closed_is_over(caplog):
    class Broken(Session):
        def close(self, reply_code: int, text: str) -> None:
            raise ZeroDivisionError

    session = Broken(Turn())
    session.break_off()
    assert (True, [session]) == (session.finished, session.turn.sessions)
    assert "internal error in closing" in caplog.text
