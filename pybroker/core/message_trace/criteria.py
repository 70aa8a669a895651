"""Criteria: which messages a trace follows."""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.content_view import property_octets
from pybroker.core.queue.browse.filter import as_text
from pybroker.core.routing.publish import headers_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.queue.destination import Destination


class Criteria(NamedTuple):
    """Conditions, all of which a message must meet: the queue that it reaches, the exchange that it is published to.

    It must also have each of the `headers`, with the value as people write it. Empty conditions are met.
    """

    queue: str = ""
    exchange: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def want(self, exchange: str, content: bytes, queues: "Iterable[Destination]") -> bool:
        """Tell whether to follow a message that was published to `exchange` and goes to `queues`."""
        return self.may_want(exchange, queues) and (not self.headers or self._has_headers(content))

    def may_want(self, exchange: str, queues: "Iterable[Destination]") -> bool:
        """Tell whether some of the messages that are published to `exchange` and go to `queues` may be followed."""
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
