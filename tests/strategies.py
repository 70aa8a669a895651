"""Hypothesis strategies shared by the tests: field values of every type, tables, properties, and methods."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import settings, strategies as st
from pamqp import commands

from pybroker.wire.methods import make_method
from pybroker.wire.properties import Properties
from pybroker.wire.table import Array, Table

YEAR_10000 = 253_402_300_800

# Tables, properties and methods are slow to draw: 20 ms each.
few = settings(max_examples=30, deadline=None)

# Surrogates are no characters, so they are not UTF-8 either.
characters = st.characters(exclude_categories=["Cs"])


def texts(octets_max: int) -> st.SearchStrategy[str]:
    """Return texts of at most that many octets in UTF-8."""
    return st.text(characters, max_size=octets_max).filter(lambda text: len(text.encode()) <= octets_max)


keys = texts(128)
shortstrs = texts(255)


def integers(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
    low = -(1 << bits - 1) if signed else 0
    return st.integers(low, low + (1 << bits) - 1)


def is_not_utf8(octets: bytes) -> bool:
    try:
        octets.decode()
    except UnicodeDecodeError:
        return True
    return False


moments = st.integers(0, YEAR_10000 - 1).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
decimals = st.builds(lambda m, scale: Decimal(m).scaleb(-scale), integers(32, signed=True), st.integers(0, 255))

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "t": st.booleans(),
    "b": integers(8, signed=True),
    "B": integers(8, signed=False),
    "s": integers(16, signed=True),
    "u": integers(16, signed=False),
    "I": integers(32, signed=True),
    "i": integers(32, signed=False),
    "l": integers(64, signed=True),
    "f": st.floats(width=32, allow_nan=False),
    "d": st.floats(allow_nan=False),
    "D": decimals,
    "T": moments | st.integers(YEAR_10000, (1 << 64) - 1),
    "S": st.text(characters, max_size=40) | st.binary(min_size=1, max_size=20).filter(is_not_utf8),
    "x": st.binary(max_size=40),
    "V": st.none(),
}

# (letter, value): what an entry is made of
Typed = tuple[str, Any]


def as_table(entries: dict[str, Typed]) -> Table:
    return Table(
        {key: value for key, (_, value) in entries.items()}, {key: letter for key, (letter, _) in entries.items()}
    )


def as_array(items: list[Typed]) -> Array:
    return Array([value for _, value in items], "".join(letter for letter, _ in items))


def nested(children: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    arrays = st.lists(children, max_size=5).map(lambda items: ("A", as_array(items)))
    inner = st.dictionaries(keys, children, max_size=5).map(lambda entries: ("F", as_table(entries)))
    return arrays | inner


scalars = st.one_of([st.tuples(st.just(letter), values) for letter, values in SCALARS.items()])
values = st.recursive(scalars, nested, max_leaves=12)
tables = st.dictionaries(keys, values, max_size=8).map(as_table)

properties = st.builds(
    Properties,
    content_type=st.none() | shortstrs,
    content_encoding=st.none() | shortstrs,
    headers=st.none() | tables,
    delivery_mode=st.sampled_from([None, 1, 2]),
    priority=st.none() | integers(8, signed=False),
    correlation_id=st.none() | shortstrs,
    reply_to=st.none() | shortstrs | st.just("amq.rabbitmq.reply-to"),
    expiration=st.none() | st.integers(0, 315_360_000_000).map(str),
    message_id=st.none() | shortstrs,
    timestamp=st.none() | integers(64, signed=False),
    type=st.none() | shortstrs,
    user_id=st.none() | shortstrs,
    app_id=st.none() | shortstrs,
    cluster_id=st.none() | shortstrs,
)

ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "bit": st.booleans(),
    "octet": integers(8, signed=False),
    "short": integers(16, signed=False),
    "long": integers(32, signed=False),
    # The upper half is pamqp's to misread as negative: test_methods.py looks at it by itself.
    "longlong": integers(63, signed=False),
    "shortstr": shortstrs,
    "longstr": st.text(characters, max_size=300),
}


@st.composite
def methods(draw: st.DrawFn, tables: st.SearchStrategy[Table] = tables) -> Any:
    """Draw any method of AMQP 0-9-1 and RabbitMQ's extensions, with any arguments."""
    arguments = {**ARGUMENTS, "table": tables}
    kind = draw(st.sampled_from(sorted(commands.INDEX_MAPPING.values(), key=lambda kind: kind.index)))
    return make_method(kind, **{name: draw(arguments[kind.amqp_type(name)]) for name in kind.attributes()})
