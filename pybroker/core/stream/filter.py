"""Filters of a stream's consumers: by the value that a message was published with.

A publisher of AMQP puts it into the header x-stream-filter-value, one of the stream protocol beside the message. Whole
chunks are passed over by their blooms. Of the others clients of the stream protocol get all, and choose themselves.

# Differs from RabbitMQ: so do its consumers of AMQP. Here they get those messages that have a wanted value in that
# header. Of a message of a stream client only the bloom knows: without the header it counts as a match.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from pybroker.content_view import property_octets
from pybroker.entries_run import UNFILTERED, EntriesRun, bits_of_bloom
from pybroker.run import WANTS_FILTER
from pybroker.wire.properties import FILTER_VALUE, find_headers
from pybroker.wire.stream.bloom import bits_of, bloom_of
from pybroker.wire.table import decode_value, split_table

if TYPE_CHECKING:
    from pybroker.run import Run
    from pybroker.store.streams.format import Bloom

FILTER_ARGUMENT: Final = "x-stream-filter"
UNFILTERED_ARGUMENT: Final = "x-stream-match-unfiltered"
# Properties of Subscribe.
_FILTER_PREFIX: Final = "filter."
_UNFILTERED_PROPERTY: Final = "match-unfiltered"
# Messages often have the same properties; longer ones are not remembered.
KNOWN_OCTETS_MAX: Final = 512
# With more of them no chunk is passed over: to look for so many would cost more.
VALUES_MAX: Final = 256
# Of memory that a value takes beside its characters, about.
VALUE_OCTETS: Final = 256


@dataclass(frozen=True)
class Filters:
    """The values of which a message must have one; `unfiltered`: or none at all."""

    values: frozenset[str]
    unfiltered: bool
    _masks: dict[int, tuple[int, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def octets(self) -> int:
        """Return about what the values take in memory, with their masks."""
        return sum(map(len, self.values)) + VALUE_OCTETS * len(self.values)

    def may_match(self, bloom: bytes | None) -> bool:
        """Tell whether a chunk with this bloom may have messages that pass."""
        if bloom is None:
            return True
        return (self.unfiltered and bool(bits_of_bloom(bloom) & UNFILTERED)) or self._may_have_value(bloom)

    def _may_have_value(self, bloom: bytes) -> bool:
        if not bloom:
            return False
        bits = bits_of_bloom(bloom)
        return any(bits & mask == mask for mask in self._masks_of(len(bloom)))

    def _masks_of(self, octets: int) -> tuple[int, ...]:
        """Return the bits of each value in a bloom of so many octets; those that any has, if there are too many."""
        masks = self._masks.get(octets)
        if masks is None:
            masks = (0,)
            if len(self.values) <= VALUES_MAX:
                masks = tuple({bits_of(value.encode(errors="surrogateescape"), octets) for value in self.values})
            self._masks[octets] = masks
        return masks

    def may_match_run(self, run: "Run") -> bool:
        """Tell whether a run may have messages that pass."""
        if isinstance(run, EntriesRun):
            # One without entries was passed over when it was read.
            return bool(run.entries) and self.may_match(run.bloom)
        if not has_values(run):
            return self.unfiltered
        return any(map(self.matches, run.contents_at(range(run.count))))

    def of_chunk(self, run: "Run") -> "Filters":
        """Return what is asked of the messages of a run that may have some that pass."""
        # Values that are not in the messages cannot be told apart.
        has_value = isinstance(run, EntriesRun) and run.bloom and self._may_have_value(run.bloom)
        return Filters(self.values, unfiltered=True) if has_value and not self.unfiltered else self

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


def filters_of_properties(properties: Mapping[str, str]) -> Filters | None:
    """Return what a subscription of the stream protocol with these properties filters by."""
    values = frozenset(value for name, value in properties.items() if name.startswith(_FILTER_PREFIX))
    return Filters(values, properties.get(_UNFILTERED_PROPERTY) == "true") if values else None


def has_values(run: "Run") -> bool:
    """Tell whether messages of a run have filter values, which are found by looking at each."""
    return bool(run.attributes.wants & WANTS_FILTER)


def bloom_of_run(run: "Run", octets: int) -> "Bloom":
    """Return the bloom of the filter values in a run, of so many octets, or how to find it, which takes its time."""
    if isinstance(run, EntriesRun):
        return run.bloom
    return partial(_bloom_of_contents, run, octets) if has_values(run) else b""


def _bloom_of_contents(run: "Run", octets: int) -> bytes:
    values = map(filter_value, run.contents_at(range(run.count)))
    return bloom_of((None if value is None else value.encode() for value in values), octets)


def filter_value(content: bytes) -> str | None:
    """Return a message's filter value, None if it has none."""
    octets = property_octets(content)
    return _known_value(octets) if len(octets) <= KNOWN_OCTETS_MAX else _value_in(octets)


def _value_in(properties: bytes) -> str | None:
    table = find_headers(properties)
    if table is None or FILTER_VALUE not in table:
        return None
    octets = dict(split_table(table)).get(FILTER_VALUE)
    value = None if octets is None else decode_value(octets)
    return value if isinstance(value, str) else None


_known_value = lru_cache(1_024)(_value_in)
