"""The states that connections of all protocols share."""

from pybroker.core.peer.states import ENDING, HANDSHAKE, State


def test_a_connection_is_in_its_handshake_or_open_or_ends():
    assert not HANDSHAKE & ENDING
    assert {State.RUNNING} == set(State) - HANDSHAKE - ENDING
