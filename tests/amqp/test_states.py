"""The table of a connection's states."""

import pytest
from pamqp import commands

from pybroker.amqp.methods import CONNECTION_METHODS
from pybroker.amqp.states import BROKER_CLOSES, END, NEXT, accepts, after
from pybroker.core.peer.states import ENDING, HANDSHAKE, State
from pybroker.errors import ChannelError

PEERS = ("StartOk", "TuneOk", "Open", "Close", "CloseOk", "UpdateSecret")


def methods() -> list[str]:
    return [f"Connection.{name}" for name in vars(commands.Connection) if name[0].isupper()]


def test_the_handshake_is_one_way():
    state = State.STARTING
    for event, following in (
        ("Connection.StartOk", "securing"),
        ("login verdict", "tuning"),
        ("Connection.TuneOk", "opening"),
        ("Connection.Open", "running"),
        ("Connection.UpdateSecret", "running"),
        ("Connection.Close", "closing"),
        ("Connection.CloseOk", "closed"),
    ):
        state = after(state, event)
        assert state == following


@pytest.mark.parametrize("state", State)
def test_every_state_has_an_end(state):
    assert after(state, END) is State.CLOSED
    assert (BROKER_CLOSES in NEXT[state]) == (state is not State.CLOSED)


@pytest.mark.parametrize("state", [state for state in State if state not in ENDING | {State.HEADER}])
@pytest.mark.parametrize("method", methods())
def test_a_method_counts_in_its_state_alone(state, method):
    if method == "Connection.Close" or method in NEXT[state]:
        assert accepts(state, method)
    else:
        with pytest.raises(ChannelError, match=f"unexpected method in connection state {state}"):
            accepts(state, method)


@pytest.mark.parametrize("state", sorted(ENDING))
def test_at_the_end_only_close_and_its_answer_count(state):
    assert {"Connection.Close", "Connection.CloseOk"} == {method for method in methods() if accepts(state, method)}


def test_what_a_state_accepts_can_be_done():
    named = {event for row in NEXT.values() for event in row if event.startswith("Connection.")}
    assert named == {f"Connection.{name}" for name in PEERS}
    assert named <= CONNECTION_METHODS.keys()
    assert HANDSHAKE | ENDING | {State.RUNNING} == set(State)
