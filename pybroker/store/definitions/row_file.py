"""RowFile: `definitions.sqlite`. One table a kind, readable with sqlite3; one transaction a batch.

    queue (vhost, name, value, change, crc)     value: JSON; crc: CRC32C of the row (rows.py)
    meta  (name, value, crc)                    schema: version of all this; state: what State says

WAL and synchronous=FULL: `apply` returns when the transaction is on disk. Used by one thread at a time; whether what
stands in the file is right is judged in `definition_recovery.py`.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from google_crc32c import value as crc32c

from pybroker.store.definitions.definitions import KINDS, Key, Value
from pybroker.store.definitions.rows import QUEUE_IDS, Row, Sum, row_crc, text_of

SCHEMA: Final = 1
# Another program that writes to the file may hold it this long before we say so.
BUSY_S: Final = 5.0
# After an import the WAL is truncated to this size.
WAL_OCTETS_MAX: Final = 4_194_304
# Six parts of a key each, and SQLite before 3.32 has 999 parameters.
KEYS_MAX: Final = 150

# CANTOPEN: of a file that is open, this is about another one beside it, for which no descriptor is left.
_PASSING: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN}


class RowFileError(Exception):
    """SQLite refused; the text is a sentence. `passing`: it may be tried again (the disk is full, the file is held)."""

    def __init__(self, doing: str, error: sqlite3.Error) -> None:
        super().__init__(f"cannot {doing}: {error}")
        self.passing = _code(error) in _PASSING


class State(NamedTuple):
    """The number of the last change, the id of the next queue, and what all rows come to."""

    changes: int = 0
    next_queue_id: int = 1
    row_count: int = 0
    total: int = 0


class Batch(NamedTuple):
    """One transaction: delete everything if `clear`, then apply each change; None deletes a row."""

    changes: Mapping[tuple[str, Key], Value | None]
    upto: int
    clear: bool = False


class _Statements(NamedTuple):
    create: str
    put: str
    remove: str
    rows: str
    backwards: str


def _statements(kind: str) -> _Statements:
    columns = [f'"{column}"' for column in KINDS[kind].columns]
    listed = ", ".join(columns)
    where = " AND ".join(f"{column} = ?" for column in columns)
    typed = ", ".join(f"{column} TEXT NOT NULL" for column in columns)
    marks = ", ".join("?" * (len(columns) + 3))
    rows = f'SELECT {listed}, value, "change", crc FROM "{kind}" ORDER BY '  # noqa: S608 - names of our own
    return _Statements(
        create=f'CREATE TABLE "{kind}" ({typed}, value TEXT NOT NULL, "change" INTEGER NOT NULL, crc INTEGER NOT NULL, '
        f"PRIMARY KEY ({listed})) WITHOUT ROWID",
        put=f'INSERT OR REPLACE INTO "{kind}" VALUES ({marks})',  # noqa: S608 - likewise
        remove=f'DELETE FROM "{kind}" WHERE {where}',  # noqa: S608 - likewise
        rows=rows + listed,
        backwards=rows + ", ".join(f"{column} DESC" for column in columns),
    )


STATEMENTS: Final = {kind: _statements(kind) for kind in KINDS}
CREATE_META: Final = (
    "CREATE TABLE meta (name TEXT NOT NULL, value TEXT NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (name)) "
    "WITHOUT ROWID"
)
PUT_META: Final = "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)"


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a database. Raises sqlite3.Error."""
    uri = f"{path.absolute().as_uri()}?mode={'rwc' if write else 'ro'}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    connection.text_factory = bytes  # what is no UTF-8 must not end a listing
    return connection


class RowFile:
    """The file, open for writing. `state` is that of the last transaction."""

    __slots__ = ("_connection", "_inode", "path", "state")

    def __init__(self, path: Path, state: State) -> None:
        self.path = path
        self.state = state
        self._inode = path.stat().st_ino if path.exists() else 0
        try:
            self._connection = connect(path, write=True)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute(f"PRAGMA journal_size_limit={WAL_OCTETS_MAX}")
            self._try_to_write()
        except sqlite3.Error as error:
            raise RowFileError(f"open {path}", error) from error

    def _try_to_write(self) -> None:
        """Write the state: half of a flipped header's effects show only then. A full disk is no damage."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._write_state(self.state)
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_FULL:
                raise
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @classmethod
    def create(cls, path: Path) -> "RowFile":
        """Make a file that was not there, without any row."""
        try:
            connection = connect(path, write=True)
            with connection:
                connection.execute("BEGIN")
                for statements in STATEMENTS.values():
                    connection.execute(statements.create)
                connection.execute(CREATE_META)
                connection.execute(PUT_META, meta_row("schema", str(SCHEMA)))
            connection.close()
        except sqlite3.Error as error:
            raise RowFileError(f"make {path}", error) from error
        return cls(path, State())

    def apply(self, batch: Batch) -> State:
        """Do one transaction; it is on disk when this returns. Raises RowFileError, and nothing has happened."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            state = self._change(batch)
            self._write_state(state)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            failure = RowFileError(f"write {self.path}", error)
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            except sqlite3.Error as second:
                failure = RowFileError(f"undo what was written to {self.path}", second)
            raise failure from error
        if not self._has_its_name():
            # Anything written to it would be lost with the process.
            raise RowFileError(f"write {self.path}", sqlite3.OperationalError("the file was removed or replaced"))
        self.state = state
        return state

    def _has_its_name(self) -> bool:
        """Tell whether the file is still the one that was opened."""
        return self.path.exists() and self.path.stat().st_ino == self._inode

    def load(self, rows: Mapping[tuple[str, Key], Row], state: State) -> None:
        """Take rows as they are into a new file. Raises RowFileError."""
        connection = self._connection
        total = Sum()
        try:
            connection.execute("BEGIN IMMEDIATE")
            for row in rows.values():
                crc = row.checksum()
                total.add(crc)
                connection.execute(STATEMENTS[row.kind].put, (*row.key, row.text, row.change, crc))
            state = state._replace(row_count=total.count, total=total.total)
            self._write_state(state)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise RowFileError(f"write {self.path}", error) from error
        self.state = state

    def rows(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield each row as it stands in its table, with its kind. Raises RowFileError."""
        try:
            for kind, statements in STATEMENTS.items():
                for found in self._connection.execute(statements.rows):
                    yield kind, found
        except sqlite3.Error as error:
            raise RowFileError(f"read {self.path}", error) from error

    def close(self) -> None:
        """Close the file; its WAL goes into it. Raises RowFileError."""
        try:
            self._connection.close()
        except sqlite3.Error as error:
            raise RowFileError(f"close {self.path}", error) from error

    def _change(self, batch: Batch) -> State:
        execute, executemany = self._connection.execute, self._connection.executemany
        total = Sum(self.state.row_count, self.state.total)
        next_queue_id = self.state.next_queue_id
        if batch.clear:
            for kind in KINDS:
                execute(f'DELETE FROM "{kind}"')  # noqa: S608 - a name of our own
            total = Sum()
        for kind, changes in _by_kind(batch):
            statements = STATEMENTS[kind]
            keys = list(changes)
            for crc in self._checksums(kind, keys):
                total.remove(crc)
            gone = [key for key in keys if changes[key] is None]
            rows = [Row(kind, key, text_of(value), batch.upto) for key, value in changes.items() if value is not None]
            crcs = [row.checksum() for row in rows]
            for crc in crcs:
                total.add(crc)
            executemany(statements.remove, gone)
            made = zip(rows, crcs, strict=True)
            executemany(statements.put, [(*row.key, row.text, row.change, crc) for row, crc in made])
            id_of = QUEUE_IDS.get(kind)
            if id_of is not None:
                ids = [value[id_of] for value in changes.values() if value is not None and id_of in value]
                next_queue_id = max([next_queue_id, *(number + 1 for number in ids)])
        return State(batch.upto, next_queue_id, total.count, total.total)

    def _checksums(self, kind: str, keys: list[Key]) -> Iterator[int]:
        """Yield the checksums of those rows that are there, many with one statement: it costs less than the rows."""
        columns = KINDS[kind].columns
        marks = f"({', '.join('?' * len(columns))})"
        listed = ", ".join(f'"{column}"' for column in columns)
        same = " AND ".join(f'found."{column}" = wanted."{column}"' for column in columns)
        for at in range(0, len(keys), KEYS_MAX):
            some = keys[at : at + KEYS_MAX]
            values = ", ".join([marks] * len(some))
            # CROSS: the wanted ones are looked up one by one, whatever the planner thinks.
            select = f'SELECT crc FROM wanted CROSS JOIN "{kind}" found ON {same}'  # noqa: S608 - names of our own
            sql = f"WITH wanted({listed}) AS (VALUES {values}) {select}"
            for (crc,) in self._connection.execute(sql, [part for key in some for part in key]):
                yield crc

    def _write_state(self, state: State) -> None:
        self._connection.execute(PUT_META, meta_row("state", json.dumps(state._asdict())))


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _by_kind(batch: Batch) -> Iterable[tuple[str, dict[Key, Value | None]]]:
    found: dict[str, dict[Key, Value | None]] = {}
    for (kind, key), value in batch.changes.items():
        found.setdefault(kind, {})[key] = value
    return found.items()


def meta_row(name: str, value: str) -> tuple[str, str, int]:
    """Return a row of the table meta."""
    return name, value, crc32c(f"{name}\0{value}".encode())


def decoded_state(octets: bytes) -> State:
    """Return the state that the row `state` of the table meta holds."""
    return State(**json.loads(octets))


def checked(kind: str, found: tuple[Any, ...]) -> Row | None:
    """Return a row as it was written, or None if its checksum does not fit."""
    *parts, text, change, crc = found
    try:
        if row_crc(kind, parts, text, change) != crc:
            return None
    except TypeError:
        return None  # a damaged page has numbers where text was written
    return Row(kind, tuple([part.decode() for part in parts]), text.decode(), change)
