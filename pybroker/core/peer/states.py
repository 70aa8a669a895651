"""The states of a connection of any protocol; which messages lead from one to the next is the protocol's matter."""

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Of a connection, as list_connections shows it."""

    HEADER = "header"
    STARTING = "starting"
    SECURING = "securing"
    TUNING = "tuning"
    OPENING = "opening"
    RUNNING = "running"
    CLOSING = "closing"
    CLOSED = "closed"


# The handshake is not over.
HANDSHAKE: Final = frozenset({State.HEADER, State.STARTING, State.SECURING, State.TUNING, State.OPENING})
# Nothing but the end of the dialogue counts any more.
ENDING: Final = frozenset({State.CLOSING, State.CLOSED})
