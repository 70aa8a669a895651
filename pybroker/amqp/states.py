"""The states of an AMQP connection as a table: methods accepted on channel 0, and successors (AMQP §2.2.4).

The methods are connection's, in pamqp's spelling, and three events that are none: the protocol header, a verdict on the
password, and an end that the broker or the network decides on. The effect of a method is in `methods/connection`.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.peer.states import ENDING, State
from pybroker.errors import ChannelError

if TYPE_CHECKING:
    from collections.abc import Mapping


# Asked for with each read: an attribute of an enumeration is looked up by a call.
HEADER: Final = State.HEADER
RUNNING: Final = State.RUNNING

# Not methods.
PROTOCOL_HEADER: Final = "protocol header"
LOGIN_VERDICT: Final = "login verdict"
BROKER_CLOSES: Final = "close by the broker"
END: Final = "end"

# In each state of a session that has not ended.
_ALWAYS: Final = {"Connection.Close": State.CLOSING, BROKER_CLOSES: State.CLOSING, END: State.CLOSED}

NEXT: Final["Mapping[State, Mapping[str, State]]"] = {
    State.HEADER: {PROTOCOL_HEADER: State.STARTING, BROKER_CLOSES: State.CLOSING, END: State.CLOSED},
    State.STARTING: {"Connection.StartOk": State.SECURING, **_ALWAYS},
    State.SECURING: {LOGIN_VERDICT: State.TUNING, **_ALWAYS},
    State.TUNING: {"Connection.TuneOk": State.OPENING, **_ALWAYS},
    State.OPENING: {"Connection.Open": State.RUNNING, **_ALWAYS},
    State.RUNNING: {"Connection.UpdateSecret": State.RUNNING, **_ALWAYS},
    State.CLOSING: {"Connection.CloseOk": State.CLOSED, **_ALWAYS},
    State.CLOSED: {"Connection.Close": State.CLOSED, "Connection.CloseOk": State.CLOSED, END: State.CLOSED},
}


def accepts(state: State, method: str) -> bool:
    """Tell whether a connection method counts in a state; one that does not is discarded.

    Raises ChannelError (504) if it must not come in this state.
    """
    if method in NEXT[state]:
        return True
    if state in ENDING:
        return False
    raise ChannelError(f"unexpected method in connection state {state}")


def after(state: State, event: str) -> State:
    """Return the state that follows. Raises KeyError: the event is not in the state's row, a bug of the caller's."""
    return NEXT[state][event]
