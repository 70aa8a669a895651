"""Criteria: which messages a trace follows."""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.content_view import property_octets
from pybroker.core.queue.browse.filter import as_text
from pybroker.core.routing.publish import headers_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.queue.destination import Destination


class Criteria(NamedTuple):
    """All that are given must hold; empty: any. `queue`: it reaches that one. `exchange`: it was published to it.

    `headers`: each of them has a value that reads like that, as people write it.
    """

    queue: str = ""
    exchange: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def want(self, exchange: str, content: bytes, queues: "Iterable[Destination]") -> bool:
        """Tell whether a message that was published to `exchange` and goes to `queues` is to be followed."""
        return self.may_want(exchange, queues) and (not self.headers or self._has_headers(content))

    def may_want(self, exchange: str, queues: "Iterable[Destination]") -> bool:
        """Tell whether this is so of some messages that were published there and go there."""
        if self.exchange is not None and exchange != self.exchange:
            return False
        return not self.queue or any(queue.name == self.queue for queue in queues if not queue.republishes)

    def _has_headers(self, content: bytes) -> bool:
        # To decode the headers of each message would cost more than to route it.
        octets = property_octets(content)
        if any(name.encode() not in octets for name, _ in self.headers):
            return False
        headers = headers_of(content)
        return headers is not None and all(
            name in headers and as_text(headers[name]) == value for name, value in self.headers
        )
