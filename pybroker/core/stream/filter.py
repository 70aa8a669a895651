"""Filters of a stream's consumers: by the value that publishers put into the header x-stream-filter-value.

# Differs from RabbitMQ: its filters let whole chunks through, and the client has to look again; these are exact.
"""

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.content_view import property_octets
from pybroker.wire.properties import find_headers
from pybroker.wire.table import decode_value, split_table

if TYPE_CHECKING:
    from pybroker.run import Run

FILTER_ARGUMENT: Final = "x-stream-filter"
UNFILTERED_ARGUMENT: Final = "x-stream-match-unfiltered"
_VALUE: Final = b"x-stream-filter-value"


class Filters(NamedTuple):
    """The values of which a message must have one; `unfiltered`: or none at all."""

    values: frozenset[str]
    unfiltered: bool

    def matches(self, content: bytes) -> bool:
        """Tell whether a message passes."""
        value = filter_value(content)
        return self.unfiltered if value is None else value in self.values

    def spans(self, run: "Run", indexes: range) -> list[range]:
        """Return those of consecutive messages that pass, as ranges of neighbours."""
        passing = [
            index for index, content in zip(indexes, run.contents_at(indexes), strict=True) if self.matches(content)
        ]
        grouped = groupby(enumerate(passing), lambda each: each[1] - each[0])
        spans = [[*map(itemgetter(1), group)] for _, group in grouped]
        return [range(span[0], span[-1] + 1) for span in spans]


def filters_of(arguments: Mapping[str, Any]) -> Filters | None:
    """Return what a consumer with these arguments filters by; None: it gets everything."""
    wanted = arguments.get(FILTER_ARGUMENT)
    if wanted is None:
        return None
    values = wanted if isinstance(wanted, list) else [wanted]
    return Filters(frozenset(map(str, values)), bool(arguments.get(UNFILTERED_ARGUMENT, False)))


def filter_value(content: bytes) -> str | None:
    """Return a message's filter value, None if it has none."""
    table = find_headers(property_octets(content))
    if table is None or _VALUE not in table:
        return None
    octets = dict(split_table(table)).get(_VALUE)
    value = None if octets is None else decode_value(octets)
    return value if isinstance(value, str) else None
