"""Boot over damage: never refused, never silently different; and what is no damage is no news."""

import random
import sqlite3

import pytest

from pybroker.store.definitions.definition_recovery import IDS_SKIPPED, NAME, NewerSchemaError
from pybroker.store.definitions.row_file import RowFileError, meta_row
from pybroker.store.disk import DiskError
from tests.searches import share
from tests.store.definitions_folder import SAMPLE, Folder, changed_row

MANY = {("queue", ("/", f"q{n}")): {"id": n, "arguments": {"x": "y" * 100}} for n in range(120)}
FLIPS = 100


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "data")


def damaged(folder):
    return sorted(path.name for path in folder.path.glob("*.damaged-*"))


def flip(path, bit):
    octets = bytearray(path.read_bytes())
    octets[bit // 8] ^= 1 << bit % 8
    path.write_bytes(octets)


def keep(folder):
    """Return the folder's files as they are now."""
    return {path: path.read_bytes() for path in folder.path.iterdir()}


def bring_back(folder, files):
    for path in folder.path.iterdir():
        path.unlink()
    for path, octets in files.items():
        path.write_bytes(octets)


def judge(folder, files, path, bit, expected):
    """Boot over one flipped bit; what stands there must be right, and still writable."""
    bring_back(folder, files)
    flip(path, bit)
    store = folder.open()
    assert expected == folder.rows, (path.name, bit, folder.opened.notices)
    assert len(folder.opened.notices) == len([name for name in damaged(folder) if name[-1].isdigit()])
    store.put("vhost", ("after",), {})
    folder.worker.run()
    assert (store.commit_position, "") == (store.completed, store.failed), (path.name, bit)
    folder.stop()
    folder.open()
    assert ({**expected, ("vhost", ("after",)): {}}, []) == (folder.rows, folder.opened.notices), (path.name, bit)
    folder.stop()


@pytest.mark.search
def test_no_flipped_bit_of_a_clean_stop_changes_anything_in_silence(folder, seed):
    folder.fill({**SAMPLE, **MANY})
    folder.stop()
    files = keep(folder)
    path = folder.path / NAME
    rng = random.Random(seed)
    bits = [*range(0, 800, 7), *(rng.randrange(len(files[path]) * 8) for _ in range(FLIPS))]
    for bit in rng.sample(bits, share(60, len(bits))):
        judge(folder, files, path, bit, {**SAMPLE, **MANY})


def test_no_flipped_bit_after_a_kill_loses_what_the_snapshot_lacks_in_silence(folder):
    folder.fill(SAMPLE)
    folder.snapshot()
    for (kind, key), value in list(MANY.items())[:20]:
        folder.store.put(kind, key, value)
        folder.worker.run()
    folder.kill()
    files = keep(folder)
    path = folder.path / (NAME + "-wal")
    rng = random.Random(5)
    silent = {**SAMPLE, **dict(list(MANY.items())[:20])}
    whole = 0
    for bit in [rng.randrange(len(files[path]) * 8) for _ in range(FLIPS // 3)]:
        bring_back(folder, files)
        flip(path, bit)
        folder.open()
        if folder.opened.notices:
            assert SAMPLE.items() <= folder.rows.items()
            assert folder.rows.items() <= silent.items()
            assert folder.rows == silent or "may be missing" in folder.opened.notices[0]
            whole += folder.rows == silent
        else:
            assert silent == folder.rows
            whole += 1
        folder.stop()
    assert whole > FLIPS // 3 * 0.9


def test_a_file_that_is_no_database_is_set_aside(folder):
    folder.fill(SAMPLE)
    folder.stop()
    (folder.path / NAME).write_bytes(b"this was a database once\n" * 50)
    folder.open()
    assert SAMPLE == folder.rows
    assert [f"{NAME}.damaged-1"] == damaged(folder)
    (notice,) = folder.opened.notices
    assert notice.startswith("definitions.sqlite cannot be read: file is not a database; it is kept as")
    assert notice.endswith(f"and {len(SAMPLE)} definitions were restored from definitions.json")
    assert len(SAMPLE) == sum("was missing and is restored from the snapshot" in line for line in folder.opened.reports)


@pytest.mark.parametrize("empty", [True, False])
def test_a_file_that_is_gone_is_restored(folder, empty):
    folder.fill(SAMPLE)
    folder.stop()
    (folder.path / NAME).unlink()
    if empty:
        (folder.path / NAME).touch()
    folder.open()
    assert SAMPLE == folder.rows
    assert folder.opened.notices[0].startswith("definitions.sqlite is missing or empty")


def test_a_start_that_was_killed_at_once_leaves_a_new_folder(folder):
    (folder.path / NAME).touch()
    (folder.path / (NAME + ".new")).write_bytes(b"half of it")
    (folder.path / (NAME + ".new-wal")).write_bytes(b"and of this")
    folder.open()
    assert ({}, True, []) == (folder.rows, folder.store.is_new, folder.opened.notices)
    folder.stop()


def test_rows_made_after_the_snapshot_are_kept_if_they_can_be_read(folder):
    folder.fill(SAMPLE)
    folder.snapshot()
    row = changed_row(99)
    folder.store.put(*row)
    folder.store.remove("vhost", next(key for kind, key in SAMPLE if kind == "vhost"))
    folder.worker.run()
    folder.opened.file._connection.execute("UPDATE user SET value = '{}'")
    folder.opened.file.close()
    folder.open()
    assert {**SAMPLE, row[:2]: row[2]} == folder.rows
    assert "may be missing" in folder.opened.notices[0]
    assert any(line.startswith("vhost") and "was missing" in line for line in folder.opened.reports)


def test_a_row_that_comes_back_from_the_dead_is_left_out(folder):
    folder.fill({**SAMPLE, changed_row(5)[:2]: {"id": 5}})
    folder.worker.run()
    old = folder.opened.file._connection.execute("SELECT * FROM queue WHERE name = 'q5'").fetchone()
    folder.store.remove(*changed_row(5)[:2])
    folder.worker.run()
    folder.snapshot()
    folder.opened.file._connection.execute(
        "INSERT INTO queue VALUES (?, ?, ?, ?, ?)", [part.decode() if isinstance(part, bytes) else part for part in old]
    )
    folder.opened.file.close()
    folder.open()
    assert SAMPLE == folder.rows
    assert ["queue (vhost '/', name 'q5') was in the damaged file but not in the snapshot, and is dropped"] == [
        line for line in folder.opened.reports if "is dropped" in line
    ]


def test_a_row_that_was_changed_by_hand_is_as_in_the_snapshot(folder):
    folder.fill({("vhost", ("v",)): {"x": 1}})
    folder.stop()
    with sqlite3.connect(folder.path / NAME) as human:
        human.execute("UPDATE vhost SET value = '{\"x\":2}'")
    human.close()
    folder.open()
    assert {("vhost", ("v",)): {"x": 1}} == folder.rows


def test_an_older_file_under_a_newer_snapshot_is_noticed(folder):
    folder.fill({("vhost", ("v",)): {"x": 1}})
    folder.stop()
    old = (folder.path / NAME).read_bytes()
    folder.fill({("vhost", ("w",)): {"x": 1}})
    folder.stop()
    (folder.path / NAME).write_bytes(old)
    folder.open()
    assert {"v", "w"} == {name for _, (name,) in folder.rows}
    assert folder.opened.notices[0].startswith("definitions.sqlite ends with change 1, but change 2 had been")


def test_ids_of_queues_that_were_lost_do_not_come_back(folder):
    folder.fill(MANY)
    folder.stop()
    (folder.path / NAME).write_bytes(b"x")
    folder.open()
    assert folder.opened.file.state.next_queue_id >= len(MANY) + IDS_SKIPPED


def test_without_a_snapshot_what_can_be_read_counts(folder):
    folder.fill({("vhost", ("v",)): {"x": 1}, ("vhost", ("w",)): {"x": 1}})
    folder.opened.file._connection.execute("UPDATE vhost SET crc = 1 WHERE name = 'w'")
    folder.opened.file.close()
    folder.open()
    assert ({("vhost", ("v",)): {"x": 1}}, False) == (folder.rows, folder.store.is_new)
    assert "1 rows of the table vhost have wrong checksums" in folder.opened.notices[0]
    assert "restored from its readable part" in folder.opened.notices[0]


def test_with_nothing_left_at_all_the_node_is_new(folder):
    folder.fill(SAMPLE)
    folder.opened.file.close()
    for path in folder.path.iterdir():
        path.write_bytes(b"x")
    folder.open()
    assert ({}, True, 1) == (folder.rows, folder.store.is_new, len(folder.opened.notices))


def test_a_damaged_snapshot_beside_a_whole_file_is_written_anew(folder):
    folder.fill(SAMPLE)
    folder.stop()
    flip(folder.path / "definitions.json", 999)
    folder.open()
    assert (SAMPLE, []) == (folder.rows, folder.opened.notices)
    assert ["definitions.json is damaged: checksum mismatch"] == folder.opened.reports
    folder.snapshot()
    folder.stop()
    folder.open()
    assert [] == folder.opened.reports


def test_the_snapshot_before_the_last_one_serves_too(folder):
    folder.fill(SAMPLE)
    folder.snapshot()
    folder.store.put("vhost", ("v",), {})
    folder.worker.run()
    folder.stop()
    flip(folder.path / "definitions.json", 999)
    (folder.path / NAME).write_bytes(b"x")
    folder.open()
    assert SAMPLE == folder.rows
    assert "restored from definitions.json.1; changes" in folder.opened.notices[0]


def test_all_files_are_their_owners_alone(folder):
    folder.fill(SAMPLE)
    folder.snapshot()
    assert {0o600} == {path.stat().st_mode & 0o777 for path in folder.path.iterdir()}


def test_damage_twice_keeps_both(folder):
    folder.fill(SAMPLE)
    folder.stop()
    for _ in range(2):
        (folder.path / NAME).write_bytes(b"x")
        folder.open()
        folder.stop()
    assert [f"{NAME}.damaged-1", f"{NAME}.damaged-2"] == damaged(folder)


def test_a_file_of_a_later_version_is_refused_and_left_alone(folder):
    folder.fill(SAMPLE)
    folder.opened.file._connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", meta_row("schema", "2"))
    folder.stop()
    octets = (folder.path / NAME).read_bytes()
    with pytest.raises(NewerSchemaError, match="was written by a later version of pybroker"):
        folder.open()
    assert octets == (folder.path / NAME).read_bytes()


def test_a_file_that_we_may_not_read_is_refused(folder, monkeypatch):
    folder.fill(SAMPLE)
    folder.stop()

    def refuse(self, name, write=False):
        raise DiskError("open", name, 13)

    monkeypatch.setattr("pybroker.store.disk.Disk.open", refuse)
    with pytest.raises(DiskError):
        folder.open()


def test_many_reports_are_cut_short(folder):
    folder.fill(MANY)
    folder.stop()
    (folder.path / NAME).write_bytes(b"x")
    folder.open()
    assert "and 20 more" == folder.opened.reports[-1]


def test_a_file_that_another_program_holds_is_not_set_aside(folder, monkeypatch):
    monkeypatch.setattr("pybroker.store.definitions.row_file.BUSY_S", 0.01)
    folder.open().put("vhost", ("one",), {})
    folder.stop()
    other = sqlite3.connect(folder.path / NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(RowFileError, match="database is locked"):
        folder.open()
    other.close()
    assert damaged(folder) == []
    assert folder.open().is_new is False
