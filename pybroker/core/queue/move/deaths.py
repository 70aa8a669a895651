"""Deaths: where and why a message died, according to its `x-death` header, latest death first.

Clients can write anything into that header: malformed entries are ignored.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.content_view import property_octets
from pybroker.wire.properties import decode_properties, find_headers

if TYPE_CHECKING:
    from pybroker.run import Run

# Of headers tables whose deaths are remembered, and of each.
KEPT: Final = 1_024
KEPT_OCTETS: Final = 4_096
SHORTSTR_OCTETS_MAX: Final = 255


class Death(NamedTuple):
    """The queue and the reason of a death, and how the message had been published.

    `routing_keys` has its own key first, then those of CC and BCC.
    """

    queue: str
    reason: str
    exchange: str
    routing_keys: tuple[str, ...]


class Deaths:
    """Finds the latest death of a message in a queue other than `source`, or in `origin` if that is given.

    If a `reason` is given, a death for another reason does not count. Messages with equal headers get the same object.
    """

    __slots__ = ("_known", "_last", "_origin", "_reason", "_same", "_source")

    def __init__(self, source: str, origin: str | None = None, reason: str | None = None) -> None:
        self._source = source
        self._origin = origin
        self._reason = reason
        self._known: dict[bytes, Death | None] = {}
        self._same: bytes | None = None  # the properties of the last message that was asked about
        self._last: Death | None = None

    def of(self, run: "Run", index: int) -> Death | None:
        """Return a message's death, or None if no death matches."""
        return self.of_content(run.content(index))

    def of_content(self, content: bytes) -> Death | None:
        """Return the death of a message with this content, or None if no death matches."""
        octets = property_octets(content)
        if octets == self._same:
            return self._last
        self._same = octets
        self._last = death = self._of_properties(octets)
        return death

    def _of_properties(self, octets: bytes) -> Death | None:
        table = find_headers(octets)
        if table is None:
            return None
        try:
            return self._known[table]
        except KeyError:
            pass
        death = self._find(octets) if b"x-death" in table else None
        if len(table) <= KEPT_OCTETS:
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[table] = death
        return death

    def _find(self, octets: bytes) -> Death | None:
        headers = decode_properties(octets).headers
        entries = None if headers is None else headers.get("x-death")
        for entry in entries if isinstance(entries, list) else ():
            death = _death(entry)
            if death is None or death.queue == self._source or self._origin not in (None, death.queue):
                continue
            return death if self._reason in (None, death.reason) else None
        return None


def _death(entry: Any) -> Death | None:
    """Return an entry of x-death, or None if it is malformed."""
    if not isinstance(entry, dict):
        return None
    queue, reason, exchange, keys = (entry.get(name) for name in ("queue", "reason", "exchange", "routing-keys"))
    if not (isinstance(queue, str) and isinstance(reason, str)):
        return None
    own = tuple([key for key in keys if isinstance(key, str)]) if isinstance(keys, list) else ()
    exchange = exchange if isinstance(exchange, str) else ""
    names = (exchange, *own)
    if any(len(name.encode(errors="surrogateescape")) > SHORTSTR_OCTETS_MAX for name in names):
        return None
    return Death(queue, reason, exchange, own or (queue,))
