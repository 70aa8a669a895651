"""Snapshot: all definitions as one JSON file in RabbitMQ's form, with a checksum; two generations are kept.

`definitions.json` and `definitions.json.1` are what a damaged `definitions.sqlite` is restored from. A row is a line;
the last lines say as of which change, and the CRC32C of all octets before its own line:

    {"rabbit_version":"3.13.7",
    "vhosts":[
    {"name":"/","description":"Default virtual host",...}],
    ...
    "pybroker":{"schema":1,"changes":7,"next_queue_id":3},
    "crc32c":"0badcafe"}
"""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from google_crc32c import value as crc32c

from pybroker.store.definitions.definitions import KINDS, Key
from pybroker.store.definitions.row_file import SCHEMA, State
from pybroker.store.definitions.rows import Row, line_of, row_of
from pybroker.store.disk import DiskError
from pybroker.version import RABBITMQ_VERSION, VERSION

if TYPE_CHECKING:
    from pybroker.store.disk import Disk

NAME: Final = "definitions.json"
NAMES: Final = (NAME, NAME + ".1")
_OURS: Final = b'\n"pybroker":'
_CRC: Final = b'\n"crc32c":"'
_END: Final = b'"}\n'


class Snapshot:
    """A snapshot whose checksum fits. `schema` is the version of what wrote it; `rows` reads it, which takes long."""

    __slots__ = ("_octets", "changes", "name", "next_queue_id", "schema")

    def __init__(self, name: str, octets: bytes, ours: dict[str, int]) -> None:
        self.name = name
        self._octets = octets
        self.schema = ours["schema"]
        self.changes = ours["changes"]
        self.next_queue_id = ours["next_queue_id"]

    def rows(self) -> dict[tuple[str, Key], Row]:
        """Return its rows."""
        document = json.loads(self._octets)
        found = (row_of(kind, each, self.changes) for kind, (_, section) in KINDS.items() for each in document[section])
        return {(row.kind, row.key): row for row in found}


def read_snapshots(disk: "Disk") -> tuple[list[Snapshot], dict[str, str]]:
    """Return what can be trusted, the newest first, and a sentence about each file that cannot, by its name.

    Raises DiskError only if the folder itself cannot be read.
    """
    there = set(disk.names())
    found: list[Snapshot] = []
    faults: dict[str, str] = {}
    for name in NAMES:
        if name not in there:
            continue
        try:
            octets = disk.read_file(name)
        except DiskError as error:
            faults[name] = str(error)
            continue
        ours = _trusted(octets)
        if ours is None:
            faults[name] = f"{name} is damaged: checksum mismatch"
        else:
            found.append(Snapshot(name, octets, ours))
    return sorted(found, key=lambda snapshot: -snapshot.changes), faults


def write_snapshot(disk: "Disk", rows: Iterable[Row], state: State) -> None:
    """Write a new generation; the one before it is kept. `rows` come kind by kind. Raises DiskError."""
    octets = _encode(rows, state)
    if NAME in disk.names():
        disk.rename(NAME, NAMES[1])
    disk.write_file(NAME, octets)


def _encode(rows: Iterable[Row], state: State) -> bytes:
    sections: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for row in rows:
        sections[row.kind].append(line_of(row))
    head = {"rabbit_version": RABBITMQ_VERSION, "rabbitmq_version": RABBITMQ_VERSION}
    head |= {"product_name": "pybroker", "product_version": VERSION}
    ours = {"schema": SCHEMA, "changes": state.changes, "next_queue_id": state.next_queue_id}
    lines = [f"{json.dumps(name)}:{json.dumps(value)}" for name, value in head.items()]
    for kind, found in sections.items():
        lines.append(f'"{KINDS[kind].section}":[' + ",".join("\n" + line for line in found) + "]")
    # RabbitMQ's files have it; here policies are among the parameters, of the component `policy`.
    lines.append('"policies":[]')
    lines.append(f'"pybroker":{json.dumps(ours)}')
    octets = ("{" + ",\n".join(lines) + ",").encode()
    return octets + _CRC + b"%08x" % crc32c(octets) + _END


def _trusted(octets: bytes) -> dict[str, int] | None:
    """Return what the last lines say, or None if the octets are not those that were written."""
    at = octets.rfind(_CRC)
    if at < 0 or octets[at:] != _CRC + b"%08x" % crc32c(octets[:at]) + _END:
        return None
    ours: dict[str, Any] = json.loads(octets[octets.rfind(_OURS, 0, at) + len(_OURS) : at].rstrip(b",\n"))
    return ours
