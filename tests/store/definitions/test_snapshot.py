"""The snapshot is a definitions file; no bit of it may change unnoticed; the one before it is kept."""

import json

from pybroker.store.definitions.definitions import KINDS
from pybroker.store.definitions.row_file import State
from pybroker.store.definitions.rows import Row, text_of
from pybroker.store.definitions.snapshot import NAME, NAMES, read_snapshots, write_snapshot
from pybroker.store.disk import Disk, DiskError

ROWS = [
    Row(kind, tuple(f'{column} ä"\n' for column in columns), text_of({"id": 1, "x": [None, "ü"]}), 3)
    for kind, (columns, _) in KINDS.items()
]


def test_it_is_read_as_it_was_written(tmp_path):
    disk = Disk(tmp_path)
    write_snapshot(disk, ROWS, State(3, 9))
    (found,), faults = read_snapshots(disk)
    assert (NAME, 1, 3, 9, {}) == (found.name, found.schema, found.changes, found.next_queue_id, faults)
    assert ROWS == list(found.rows().values())


def test_it_has_the_form_of_rabbitmqs_definitions(tmp_path):
    write_snapshot(Disk(tmp_path), [Row("vhost", ("/",), '{"description":"d"}', 1)], State(1, 1))
    document = json.loads((tmp_path / NAME).read_text())
    assert [{"name": "/", "description": "d"}] == document["vhosts"]
    sections = {"users", "permissions", "topic_permissions", "parameters", "global_parameters", "policies"}
    assert {"rabbit_version", "exchanges", "queues", "bindings", *sections} <= set(document)


def test_two_generations_are_kept_and_the_newest_comes_first(tmp_path):
    disk = Disk(tmp_path)
    for changes in (1, 2, 3):
        write_snapshot(disk, ROWS, State(changes, 1))
    found, _ = read_snapshots(disk)
    assert [(NAME, 3), (NAMES[1], 2)] == [(each.name, each.changes) for each in found]


def test_every_flipped_octet_is_found(tmp_path):
    disk = Disk(tmp_path)
    write_snapshot(disk, ROWS, State(3, 9))
    octets = (tmp_path / NAME).read_bytes()
    for at in range(len(octets)):
        (tmp_path / NAME).write_bytes(octets[:at] + bytes([octets[at] ^ 0x10]) + octets[at + 1 :])
        found, faults = read_snapshots(disk)
        assert ([], {NAME: f"{NAME} is damaged: checksum mismatch"}) == (found, faults)
    (tmp_path / NAME).write_bytes(octets[:-4])
    assert [] == read_snapshots(disk)[0]


def test_one_that_cannot_be_read_leaves_the_other(tmp_path):
    class Unreadable(Disk):
        def read_file(self, name):
            if name == NAME:
                raise DiskError("read", name, 5)
            return super().read_file(name)

    disk = Unreadable(tmp_path)
    write_snapshot(disk, ROWS, State(1, 1))
    write_snapshot(disk, ROWS, State(2, 1))
    found, faults = read_snapshots(disk)
    assert ([NAMES[1]], {NAME: f"cannot read {NAME}: Input/output error"}) == ([each.name for each in found], faults)
