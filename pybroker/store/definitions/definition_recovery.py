"""Recovery of the definitions at boot: they are read, checked, and if need be restored from a snapshot.

No damage prevents a boot. `definitions.sqlite` is trusted if SQLite finds its pages in order, every row's checksum is
right, the rows add up to the sum that was kept with them, and it is as new as the last transaction that returned.
Otherwise it is set aside, and the newest snapshot is used, with all readable rows that are newer.
"""

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

from google_crc32c import value as crc32c

from pybroker.store.definitions.commit_marker import read_commit_marker
from pybroker.store.definitions.definitions import KINDS, Key, Rows
from pybroker.store.definitions.row_file import (
    CREATE_META,
    SCHEMA,
    STATEMENTS,
    RowFile,
    RowFileError,
    State,
    checked,
    connect,
    decoded_state,
)
from pybroker.store.definitions.rows import QUEUE_IDS, Row, Sum, decoded, describe
from pybroker.store.definitions.snapshot import Snapshot, read_snapshots, write_snapshot
from pybroker.store.definitions.wal import mended
from pybroker.store.disk import DiskError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pybroker.store.disk import Disk

NAME: Final = "definitions.sqlite"
NEW_NAME: Final = NAME + ".new"
MENDED_NAME: Final = NAME + ".mended"
# Errors of reading a damaged file: a wild length is a MemoryError, a name that is not UTF-8 a ValueError.
UNREADABLE: Final = (sqlite3.Error, MemoryError, ValueError)
# Suffixes of the files that SQLite keeps beside its own.
WAL: Final = "-wal"
_BESIDE: Final = (WAL, "-shm", "-journal")
# The ids of queues that were lost with the file must not come back: nobody makes this many between two snapshots.
IDS_SKIPPED: Final = 1_000_000
REPORTS_MAX: Final = 100


class NewerSchemaError(Exception):
    """A later version of pybroker wrote the definitions; the text is a sentence for the operator."""

    def __init__(self, name: str, schema: int) -> None:
        super().__init__(
            f"{name} was written by a later version of pybroker (schema {schema}; this version supports "
            f"{SCHEMA}): start that version"
        )


class Opened(NamedTuple):
    """The file, open; its rows; and what the operator must know: a few `notices`, and a line for each row restored."""

    file: RowFile
    rows: Rows
    is_new: bool
    snapshot_changes: int  # as of which change the newest snapshot is; it is to be made anew if that is not the last
    notices: list[str]
    reports: list[str]


class Examined(NamedTuple):
    """The contents of a file; if it is not to be trusted, `state` is None and `faults` says why."""

    rows: dict[tuple[str, Key], Row]
    state: State | None
    faults: list[str]


def open_definitions(disk: "Disk") -> Opened:
    """Open the definitions of a data folder, whatever state they are in.

    Raises NewerSchemaError; DiskError, RowFileError: the system does not let us write there.
    """
    names = set(disk.names())
    _unlink(disk, names, NEW_NAME)
    _unlink(disk, names, MENDED_NAME)
    snapshots, bad = read_snapshots(disk)
    for name in bad:
        # It must not take the place of the one before it.
        disk.rename(name, f"{name}.damaged")
    faults = list(bad.values())
    marked = read_commit_marker(disk)
    if NAME not in names or not _size(disk, NAME):
        if not snapshots and not faults and not marked:
            return Opened(_make(disk), decoded(()), True, 0, [], [])
        examined = Examined({}, None, [f"{NAME} is missing or empty"])
    else:
        examined = examine(disk.root / NAME)
    newest = max([marked, *(snapshot.changes for snapshot in snapshots)])
    state = examined.state
    if state is not None and state.changes >= newest:
        try:
            file = RowFile(disk.root / NAME, state)
        except RowFileError as error:
            if error.passing:
                raise  # another program holds the file, or no descriptor is left: it is not damaged
            examined = examined._replace(state=None, faults=[str(error)])
        else:
            # A bad snapshot is only written anew: the file itself is whole.
            kept = -1 if faults else snapshots[0].changes if snapshots else 0
            return Opened(file, decoded(examined.rows.values()), not state.changes, kept, [], faults)
    elif state is not None:
        lost = f"{NAME} ends with change {state.changes}, but change {newest} had been written"
        examined = examined._replace(faults=[lost])
    if NAME + WAL in names:
        examined = _examine_mended(disk, examined, newest)
    return _restore(disk, examined, snapshots, marked, faults)


# -- judging ----------------------------------------------------------------------------------------------------------


def examine(path: "Path") -> Examined:
    """Read all of a file as it is at one moment, also while another process writes it. Raises NewerSchemaError."""
    rows: dict[tuple[str, Key], Row] = {}
    faults: list[str] = []
    state = None
    try:
        with closing(connect(path, write=False)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA cell_size_check=ON")
            connection.execute("BEGIN")
            state = _examine_frame(connection, faults)
            total = Sum()
            for kind in KINDS:
                _examine_rows(connection, kind, rows, total, faults)
    except UNREADABLE as error:
        faults.append(f"{path.name} cannot be read: {error}")
    else:
        if state is not None and not faults and (state.row_count, state.total) != (total.count, total.total):
            faults.append(f"{path.name} has {total.count} rows that do not match the recorded {state.row_count}")
    return Examined(rows, None if faults else state, faults)


def _examine_frame(connection: sqlite3.Connection, faults: list[str]) -> State | None:
    """Look at the pages, the tables and the state. Raises NewerSchemaError, sqlite3.Error."""
    meta = {}
    for found in connection.execute("SELECT name, value, crc FROM meta"):
        name, value, crc = found
        if isinstance(name, bytes) and isinstance(value, bytes) and crc32c(name + b"\0" + value) == crc:
            meta[name] = value
    schema = int(meta.get(b"schema", 0))
    if schema > SCHEMA:
        raise NewerSchemaError(NAME, schema)
    tables = set(connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'"))
    wanted = [CREATE_META, *(statements.create for statements in STATEMENTS.values())]
    if not schema or b"state" not in meta or any((sql.encode(),) not in tables for sql in wanted):
        faults.append(f"{NAME} lacks tables, or its metadata is damaged")
    found = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
    if found != [b"ok"]:
        faults.append(f"{NAME} is damaged: {b'; '.join(found).decode(errors='replace'):.200}")
    return decoded_state(meta[b"state"]) if b"state" in meta else None


def _examine_rows(
    connection: sqlite3.Connection, kind: str, rows: dict[tuple[str, Key], Row], total: Sum, faults: list[str]
) -> None:
    """Read what can be read of one table: forwards, and if that ends early, from the other end too."""
    bad = 0
    for sql in (STATEMENTS[kind].rows, STATEMENTS[kind].backwards):
        try:
            for found in connection.execute(sql):
                row = checked(kind, found)
                if row is None:
                    bad += 1
                elif (kind, row.key) not in rows:
                    rows[kind, row.key] = row
                    total.add(found[-1])
        except UNREADABLE as error:
            faults.append(f"the table {kind} cannot be read completely: {error}")
        else:
            break
    if bad:
        faults.append(f"{bad} rows of the table {kind} have wrong checksums")


def _examine_mended(disk: "Disk", examined: Examined, newest: int) -> Examined:
    """Look at the file again with all of its WAL, also what SQLite does not read; return what is known by both."""
    try:
        disk.write_file(MENDED_NAME, disk.read_file(NAME))
        disk.write_file(MENDED_NAME + WAL, mended(disk.read_file(NAME + WAL)))
        again = examine(disk.root / MENDED_NAME)
    except (DiskError, NewerSchemaError):
        return examined
    finally:
        _unlink(disk, disk.names(), MENDED_NAME)
    if again.state is not None and again.state.changes >= newest:
        return again._replace(faults=examined.faults)
    rows = dict(examined.rows)
    for key, row in again.rows.items():
        if key not in rows or rows[key].change < row.change:
            rows[key] = row
    if len(rows) == len(examined.rows):
        return examined
    return Examined(rows, None, examined.faults)


# -- restoring --------------------------------------------------------------------------------------------------------


def _restore(disk: "Disk", examined: Examined, snapshots: list[Snapshot], marked: int, faults: list[str]) -> Opened:
    """Put what is known together, keep it as a snapshot, and make the file anew from it."""
    source = "its readable part"
    based = State()
    rows = examined.rows
    readable = True
    # A whole file that lost its last changes is as good as a snapshot of the same age.
    was = max((row.change for row in rows.values()), default=0)
    if snapshots and snapshots[0].schema > SCHEMA:
        raise NewerSchemaError(snapshots[0].name, snapshots[0].schema)
    if snapshots and (examined.state is None or snapshots[0].changes >= examined.state.changes):
        snapshot = snapshots[0]
        source = snapshot.name
        based = State(snapshot.changes, snapshot.next_queue_id)
        newer = {key: row for key, row in rows.items() if row.change > snapshot.changes}
        rows = {**snapshot.rows(), **newer}
    elif examined.state is not None:
        based = examined.state
        readable = False
    reports = _compare(examined.rows, rows) if readable else []
    changes = max(based.changes, marked, was) + 1
    ids = (row.value.get(QUEUE_IDS[row.kind], 0) for row in rows.values() if row.kind in QUEUE_IDS)
    state = State(changes, max([based.next_queue_id, *ids]) + IDS_SKIPPED)
    write_snapshot(disk, rows.values(), state)
    aside = _set_aside(disk)
    file = _make(disk, rows, state)
    reason = examined.faults[0]
    kept = f"; it is kept as {aside}" if aside else ""
    notice = f"{reason}{kept}, and {len(rows)} definitions were restored from {source}"
    if changes - 1 > based.changes and snapshots:
        notice += f"; changes {based.changes + 1} to {changes - 1} may be missing"
    more = [f"and {len(reports) - REPORTS_MAX} more"] if len(reports) > REPORTS_MAX else []
    details = [*examined.faults[1:], *faults, *reports[:REPORTS_MAX], *more]
    # With nothing at all left the node is a new one: without a vhost and a user nobody could even repair it.
    return Opened(file, decoded(rows.values()), not rows, state.changes, [notice], details)


def _compare(before: dict[tuple[str, Key], Row], after: dict[tuple[str, Key], Row]) -> list[str]:
    """Say of each row where the restored definitions differ from what could be read in the damaged file."""
    found = []
    for key, row in after.items():
        old = before.get(key)
        if old is None:
            found.append(f"{row} was missing and is restored from the snapshot")
        elif old.text != row.text:
            found.append(f"{row} was {old.text:.200} in the damaged file and is restored from the snapshot")
    found += [
        f"{describe(*key)} was in the damaged file but not in the snapshot, and is dropped"
        for key in before
        if key not in after
    ]
    return found


def _set_aside(disk: "Disk") -> str:
    """Rename the damaged file and what SQLite has beside it; return its new name, empty if there was none."""
    names = set(disk.names())
    if NAME not in names:
        for beside in _BESIDE:
            if NAME + beside in names:
                disk.unlink(NAME + beside)
        return ""
    number = 1
    while f"{NAME}.damaged-{number}" in names:
        number += 1
    aside = f"{NAME}.damaged-{number}"
    for beside in ("", *_BESIDE):
        if NAME + beside in names:
            disk.rename(NAME + beside, aside + beside)
    disk.sync_folder()
    return aside


def _make(disk: "Disk", rows: "dict[tuple[str, Key], Row] | None" = None, state: State | None = None) -> RowFile:
    """Make the file under another name, so that there is a whole one or none."""
    disk.close(disk.create(NEW_NAME))  # ours alone: there are password hashes in it
    new = RowFile.create(disk.root / NEW_NAME)
    if rows is not None and state is not None:
        new.load(rows, state)
    new.close()
    disk.rename(NEW_NAME, NAME)
    disk.sync_folder()
    return RowFile(disk.root / NAME, new.state)


def _size(disk: "Disk", name: str) -> int:
    """Return the file's size in octets. Raises DiskError: we may not read it."""
    file = disk.open(name)
    try:
        return disk.size(file)
    finally:
        disk.close(file)


def _unlink(disk: "Disk", names: "Iterable[str]", name: str) -> None:
    """Remove what a start that was killed has left of a database."""
    for each in (name, *(name + beside for beside in _BESIDE)):
        if each in names:
            disk.unlink(each)
