"""RowFilter: which messages of a range pass, by the header that has what their publishers filter by.

The broker passes over whole chunks; a chunk that it sends has other messages, too. Each message is judged by itself, so
a batch that is read again has the same rows, wherever chunks begin then.
"""

from typing import Final, NamedTuple

from pybroker.client.errors import ClientError
from pybroker.errors import AmqpError
from pybroker.spark.parse.headers import as_text
from pybroker.wire.amqp10.front import UNKNOWN, Front
from pybroker.wire.properties import FILTER_VALUE, find_headers
from pybroker.wire.table import decode_value, split_table

_DEFAULT: Final = FILTER_VALUE.decode()


class UnknownFilterValueError(ClientError):
    """Nothing in a message says which filter value it was published with."""


class RowFilter(NamedTuple):
    """`values` pass, and with `unfiltered` what has none. Without a `header` that of AMQP is looked at."""

    values: frozenset[str]
    unfiltered: bool = False
    header: str = ""

    @property
    def properties(self) -> dict[str, str]:
        """Return the properties of a subscription whose broker passes over chunks."""
        found = {f"filter.{number}": value for number, value in enumerate(sorted(self.values))}
        return found | ({"match-unfiltered": "true"} if self.unfiltered else {})

    def passes(self, front: Front, stream: str, offset: int) -> bool:
        """Tell whether a message passes; stream and offset are for the error's text.

        Raises UnknownFilterValueError.
        """
        value = _header(front.properties, self.header or _DEFAULT)
        if value is not None:
            return value in self.values
        if not self.header and front.origin == UNKNOWN:
            # The publisher gave its value beside the message, and the broker keeps that of the chunk alone.
            raise UnknownFilterValueError(
                f"message {offset} of stream {stream!r} was published by a client of the stream protocol, without the "
                f"header {_DEFAULT}: name the header that has its filter value by filterHeader"
            )
        return self.unfiltered


def _header(properties: bytes, name: str) -> str | None:
    try:
        table = find_headers(properties)
        octets = None if table is None else dict(split_table(table)).get(name.encode())
        value = None if octets is None else decode_value(octets)
    except AmqpError:
        return None
    # Of its own header the broker takes texts alone.
    return value if isinstance(value, str) or value is None else None if name == _DEFAULT else as_text(value)
