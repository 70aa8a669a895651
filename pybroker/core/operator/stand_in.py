"""A stand-in for the channel that an operator does not have: traces ask it who published or got a message."""

from typing import TYPE_CHECKING, Any

from pybroker.core.exchange.trace import Party

if TYPE_CHECKING:
    from pybroker.core.events.cause import Cause
    from pybroker.core.routing.publish import Publisher


class StandIn:
    """The operator behind a `cause`, as traces know a channel and its session: everything is confirmed."""

    __slots__ = ("confirms", "party", "publisher", "session", "transaction")

    def __init__(self, cause: "Cause", publisher: "Publisher | None" = None) -> None:
        self.party = Party(cause.connection, 0, cause.user)
        self.publisher = publisher
        self.session = self
        self.confirms = True
        self.transaction = None

    def log_fields(self) -> dict[str, Any]:
        """Return what the log would have of the session: nothing."""
        return {}
