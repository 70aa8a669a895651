"""Rows: one definition each, as in the file and in the snapshot, with a checksum of all that it says.

A row is text: the parts of its key, its value as JSON, and the number of the change that made it. SQLite does not check
its pages, so a flipped bit is found here. `Sum` detects rows that are lost or come back without a trace.
"""

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from google_crc32c import value as crc32c

from pybroker.store.definitions.definitions import KINDS, Key, Rows, Value

# Which rows have an id of the log's, and where; none of these ids is ever used again.
QUEUE_IDS: Final = {"queue": "id", "exchange": "schedule_id"}

_SUM_MASK: Final = (1 << 64) - 1
_OCTETS: Final = {kind: kind.encode() for kind in KINDS}
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Row(NamedTuple):
    """One row, its value as JSON text; `change` is the number of the change that made it."""

    kind: str
    key: Key
    text: str
    change: int

    @property
    def value(self) -> Value:
        """Return the value."""
        found: Value = json.loads(self.text)
        return found

    def checksum(self) -> int:
        """Return the CRC32C of the row's content."""
        return row_crc(self.kind, [part.encode() for part in self.key], self.text.encode(), self.change)

    def __str__(self) -> str:
        return describe(self.kind, self.key)


def queue_ids(rows: Rows) -> list[int]:
    """Return the ids under which the log keeps messages of what these rows tell of."""
    found = ((value, at) for kind, at in QUEUE_IDS.items() for value in rows[kind].values())
    return [value[at] for value, at in found if at in value]


def describe(kind: str, key: Key) -> str:
    """Return a row's name for the operator: `queue (vhost '/', name 'q')`."""
    parts = zip(KINDS[kind].columns, key, strict=True)
    return f"{kind.replace('_', ' ')} ({', '.join(f'{column} {part!r:.80}' for column, part in parts)})"


def row_crc(kind: str, key: Iterable[bytes], text: bytes, change: int) -> int:
    """Return the CRC32C of a row from its octets."""
    crc: int = crc32c(b"\0".join((_OCTETS[kind], *key, b"%d" % change, text)))
    return crc


def text_of(value: Value) -> str:
    """Return a value as JSON text that is UTF-8."""
    text = _encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, from an operator's terminal that speaks no UTF-8: only an escape holds it.
        text = json.dumps(value, separators=(",", ":"))
    return text


def line_of(row: Row) -> str:
    """Return the row as an object of a definitions file, the parts of the key in front."""
    pairs = zip(KINDS[row.kind].columns, row.key, strict=True)
    head = ",".join(f'"{column}":{_encode(part)}' for column, part in pairs)
    return f"{{{head},{row.text[1:]}" if len(row.text) > 2 else f"{{{head}}}"


def row_of(kind: str, found: dict[str, Any], change: int) -> Row:
    """Return the row that `line_of` wrote. Raises KeyError: a part of its key is missing."""
    columns = KINDS[kind].columns
    key = tuple(str(found[column]) for column in columns)
    return Row(kind, key, text_of({name: value for name, value in found.items() if name not in columns}), change)


def decoded(rows: Iterable[Row]) -> Rows:
    """Return rows by kind, with their values. All JSON is read as one text: it takes a third of the time."""
    rows = list(rows)
    values = json.loads(f"[{','.join([row.text for row in rows])}]")
    found: Rows = {kind: {} for kind in KINDS}
    for row, value in zip(rows, values, strict=True):
        found[row.kind][row.key] = value
    return found


class Sum:
    """How many rows there are, and the sum of their checksums: kept with every transaction, so that none gets lost."""

    __slots__ = ("count", "total")

    def __init__(self, count: int = 0, total: int = 0) -> None:
        self.count = count
        self.total = total

    def add(self, crc: int) -> None:
        """Count a row."""
        self.count += 1
        self.total = (self.total + crc) & _SUM_MASK

    def remove(self, crc: int) -> None:
        """Count a row that goes."""
        self.count -= 1
        self.total = (self.total - crc) & _SUM_MASK
