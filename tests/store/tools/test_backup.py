"""Backups: what a node held at one moment comes back, whatever it did meanwhile; what is not whole is told."""

import json
import random
import shutil

import pytest

from pybroker.store.definitions.definition_recovery import open_definitions
from pybroker.store.disk import Disk, DiskError
from pybroker.store.log_path import log_folder
from pybroker.store.tools import backup
from pybroker.store.tools.backup import BackupError, File, Manifest
from pybroker.store.tools.scrub import Scrub, scrub_definitions, scrub_log
from pybroker.store.tools.stream_scrub import scrub_streams
from tests.store.data_folder import DataFolder, contents, done, flip
from tests.store.streams.lives import SEQS_AHEAD, Life, expected

OUTSIDE = ("x", "../x", "0000000000000007/../x")
NOW_MS = 1_700_000_000_000


@pytest.fixture
def data(tmp_path):
    return DataFolder(tmp_path / "data")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    data = DataFolder(tmp_path_factory.mktemp("template") / "data")
    data.busy(random.Random(1), 60)
    folder = data.path.with_name("backup")
    done(backup.create(data.path, folder, data.hold(), NOW_MS))
    return folder


@pytest.fixture
def made(template, tmp_path):
    """A backup of a folder with something in it."""
    return shutil.copytree(template, tmp_path / "backup")


def restored(folder, tmp_path, name="restored"):
    (tmp_path / name).mkdir()
    done(backup.restore(folder, tmp_path / name))
    return tmp_path / name


@pytest.mark.parametrize("seed", range(8))
def test_what_was_there_at_that_moment_comes_back_whatever_is_done_while_it_is_copied(seed, data, tmp_path):
    rng = random.Random(seed)
    data.busy(rng, rng.randint(0, 80))
    moment, expected = data.hold(), data.snapshot()
    work = backup.create(data.path, tmp_path / "backup", moment, NOW_MS)
    for _ in work:
        data.busy(rng, rng.randint(0, 20))
    data.node.log.maintenance.release(moment.commit_position)
    data.busy(rng, 20)
    done(backup.check(tmp_path / "backup"))
    folder = restored(tmp_path / "backup", tmp_path)
    assert expected == contents(folder)
    # The node itself has lost nothing by it.
    data.node.commit()
    assert data.expected == contents(data.path)


def test_nothing_goes_that_is_held_and_it_goes_afterwards(data):
    data.busy(random.Random(2), 80)
    moment = data.hold()
    held = {number for number, _ in moment.segments}
    data.settle_all()
    for _ in range(10):
        data.node.commit()
        data.node.tick(2_000)
    assert held <= {segment.number for segment in data.node.log.live_index.segments}
    assert f"ckpt.{moment.commit_position:016x}" in data.log.names()
    data.node.log.maintenance.release(moment.commit_position)
    for _ in range(5):
        data.node.publish([b"x"])
        data.node.commit()
        data.node.tick(61_000)
    assert not held & {segment.number for segment in data.node.log.live_index.segments[:-1]}
    assert f"ckpt.{moment.commit_position:016x}" not in data.log.names()


def test_a_backup_says_what_is_in_it(made):
    manifest = backup.read_manifest(made)
    assert ("pybroker@test", NOW_MS, 3) == (manifest.node, manifest.created_ms, manifest.definitions)
    names = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    assert {backup.MANIFEST, *(file.name for file in manifest.files)} == names
    assert manifest.octets == sum(file.octets for file in manifest.files)
    steps, again = done(backup.check(made))
    assert manifest == again
    assert (manifest.octets, manifest.octets) == steps[-1]
    assert json.loads((made / "definitions.json").read_text())["queues"][0]["name"] == "q1"


def test_what_is_restored_is_sound_and_its_definitions_need_no_rescue(made, tmp_path):
    folder = restored(made, tmp_path)
    scrub = Scrub()
    done(scrub_log(Disk(log_folder(folder)), scrub))
    scrub_definitions(Disk(folder), scrub)
    assert ([], 3) == (scrub.damage, scrub.definitions)
    opened = open_definitions(Disk(folder))
    opened.file.close()
    assert ([], [], False) == (opened.notices, opened.reports, opened.is_new)
    assert {"q1", "q2", "q3"} == {name for _, name in opened.rows["queue"]}


def test_definitions_made_after_the_moment_are_in_it_too(data, tmp_path):
    moment = data.hold()
    data.definitions.store.put("queue", ("/", "later"), {"id": 4})
    data.definitions.worker.run()
    _, manifest = done(backup.create(data.path, tmp_path / "backup", moment, NOW_MS))
    assert manifest.definitions == 4


@pytest.mark.parametrize("seed", range(30))
def test_a_flipped_bit_is_found(seed, made, tmp_path):
    rng = random.Random(seed)
    path = rng.choice([path for path in sorted(made.rglob("*")) if path.is_file()])
    flip(path, rng)
    with pytest.raises(BackupError, match="the backup is damaged and must not be restored: "):
        done(backup.check(made))
    (tmp_path / "target").mkdir()
    with pytest.raises(BackupError):
        done(backup.restore(made, tmp_path / "target"))
    assert [] == [each for each in (tmp_path / "target").rglob("*") if each.is_file()]


def test_a_file_that_is_missing_or_too_short_is_named(made):
    name = backup.read_manifest(made).files[0].name
    octets = (made / name).read_bytes()
    (made / name).write_bytes(octets[:-1])
    damaged = "the backup is damaged and must not be restored"
    with pytest.raises(BackupError, match=f"^{damaged}: {name} has {len(octets) - 1} octets instead of {len(octets)}$"):
        done(backup.check(made))
    (made / name).unlink()
    with pytest.raises(BackupError, match=f"^{damaged}: {name} is missing$"):
        done(backup.check(made))


def test_what_is_no_backup_is_told_apart(tmp_path, made):
    with pytest.raises(BackupError, match="does not exist"):
        backup.read_manifest(tmp_path / "nosuch")
    (made / backup.MANIFEST).unlink()
    with pytest.raises(BackupError, match="is not a complete backup: it has no MANIFEST"):
        backup.read_manifest(made)


def test_a_newer_backup_is_for_a_newer_program(made, monkeypatch):
    manifest = backup.read_manifest(made)
    monkeypatch.setattr(backup, "VERSION_WITHOUT_STREAMS", 3)
    (made / backup.MANIFEST).write_bytes(manifest.encode())
    with pytest.raises(BackupError, match="has version 3, but this program supports only up to 2"):
        backup.read_manifest(made)


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "groups/local/../x",
        ".lock",
        "/etc/x",
        "groups/x",
        "groups/local/streams/x",
        "groups/local/streams/../x",
    ],
)
def test_no_file_is_written_outside_of_the_data_folder(name, made, tmp_path):
    manifest = backup.read_manifest(made)
    (made / backup.MANIFEST).write_bytes(manifest._replace(files=(File(name, 0, "00000000"),)).encode())
    (tmp_path / "target").mkdir()
    with pytest.raises(BackupError, match="which is not a file of a backup"):
        done(backup.restore(made, tmp_path / "target"))


def test_a_backup_wants_a_folder_of_its_own(data, tmp_path):
    moment = data.hold()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    for target, why in (
        (tmp_path / "full", "is not empty"),
        (tmp_path / "full" / "x", "is not a folder"),
        (tmp_path / "no" / "such", "does not exist"),
        (data.path / "in", "inside the data folder"),
    ):
        with pytest.raises(BackupError, match=why):
            done(backup.create(data.path, target, moment, NOW_MS))
    assert (tmp_path / "full" / "x").exists()


def test_a_checkpoint_that_a_stop_writes_anew_is_copied_whole(data, tmp_path):
    """Under the same name, with what was delivered: longer."""
    data.busy(random.Random(3), 60)
    moment = data.hold()
    work = backup.create(data.path, tmp_path / "backup", moment, NOW_MS)
    next(work)
    path = log_folder(data.path) / f"ckpt.{moment.commit_position:016x}"
    path.write_bytes(path.read_bytes() * 2)
    done(work)
    copied = log_folder(tmp_path / "backup") / path.name
    assert copied.read_bytes() * 2 == path.read_bytes()
    done(backup.check(tmp_path / "backup"))


def test_nothing_stays_of_a_backup_that_was_left_or_failed(data, tmp_path, monkeypatch):
    data.busy(random.Random(3), 60)
    moment = data.hold()
    work = backup.create(data.path, tmp_path / "backup", moment, NOW_MS)
    next(work)
    work.close()
    assert [] == [path for path in (tmp_path / "backup").rglob("*") if path.is_file()]
    (data.path / "definitions.sqlite").write_bytes(b"x" * 5_000)
    with pytest.raises(BackupError, match="the definitions cannot be copied"):
        done(backup.create(data.path, tmp_path / "backup", moment, NOW_MS))
    assert [] == [path for path in (tmp_path / "backup").rglob("*") if path.is_file()]
    shutil.rmtree(tmp_path / "backup")
    monkeypatch.setattr(Disk, "sync", lambda *_: (_ for _ in ()).throw(DiskError("sync", "it", 5)))
    with pytest.raises(DiskError):
        done(backup.create(data.path, tmp_path / "backup", moment, NOW_MS))
    assert [] == [path for path in (tmp_path / "backup").rglob("*") if path.is_file()]


def test_the_manifest_is_what_it_was():
    manifest = Manifest("n", 1, 2, 3, (File("a", 1, "00000001"), File("b/c", 2, "00000002")))
    assert Manifest.decode(manifest.encode()) == manifest


# -- streams -----------------------------------------------------------------------------------------------------------


class Streamed:
    """Streams in a data folder whose log has given out so many seqs as the messages in them need."""

    def __init__(self, data):
        self.data = data
        self.log = data.log
        self.life = Life(self.log)
        self.seqs()

    def seqs(self):
        """Have the log give seqs beyond those of all chunks."""
        while self.data.node.log.next_seq <= self.life.log.last_seq:
            self.data.node.log.take(self.life.log.last_seq + 1 - self.data.node.log.next_seq)
        self.data.node.publish([b"x"])
        self.data.node.commit()


def test_streams_come_back_as_they_were_at_that_moment(data, tmp_path):
    stream = Streamed(data)
    stream.life.fill(63, 3, segment_octets=2_000)
    stream.seqs()
    assert stream.life.ask("truncate", 10) is None
    moment = data.hold()
    work = backup.create(data.path, tmp_path / "backup", moment, NOW_MS)
    for number, _ in enumerate(work):
        if number < 3:  # more comes meanwhile, whose seqs are not those of the moment
            stream.life.append(2, segment_octets=2_000)
    data.node.log.maintenance.release(moment.commit_position)
    done(backup.check(tmp_path / "backup"))
    scrub = Scrub()
    done(scrub_streams(Disk(log_folder(tmp_path / "backup")), scrub, running=False))
    assert (scrub.damage, scrub.notes, scrub.streams) == ([], [], 1)
    folder = restored(tmp_path / "backup", tmp_path)
    again = Life(Disk(log_folder(folder)))
    assert (again.log.reports, again.log.first_offset, again.log.next_offset) == ([], 10, 63)
    again.check()
    assert json.loads((tmp_path / "backup" / backup.MANIFEST).read_text())["pybroker_backup"] == 2


@pytest.mark.parametrize("seed", range(6))
def test_streams_may_change_in_any_way_while_they_are_copied(seed, data, tmp_path):
    rng = random.Random(seed)
    stream = Streamed(data)
    stream.life.fill(rng.randrange(1, 90), 3, segment_octets=1_000)
    stream.seqs()
    end, was_deleted = stream.life.log.next_offset, False
    moment = data.hold()
    for _ in backup.create(data.path, tmp_path / "backup", moment, NOW_MS):
        what = rng.random()
        if what < 0.4:
            stream.life.append(*[3] * rng.randrange(1, 6), segment_octets=1_000)
        elif what < 0.5:
            stream.life.ask("retain", rng.choice((3_000, 0)), None)
        elif what < 0.55:
            stream.life.ask("retain", None, 1 << 60)
        elif what < 0.6:
            stream.life.ask("truncate", rng.randrange(stream.life.log.next_offset + 1))
        elif what < 0.62:
            stream.life.ask("delete")
            stream.life, was_deleted = Life(stream.log), True
    folder = restored(tmp_path / "backup", tmp_path)
    again = Life(Disk(log_folder(folder)))
    assert again.log.reports == []
    assert was_deleted or (again.log.first_offset, again.log.next_offset) == (0, end)
    assert again.log.next_offset in {0, end} or again.log.first_offset == again.log.next_offset
    assert again.log.last_seq <= end - 1 + SEQS_AHEAD or again.log.first_offset == again.log.next_offset
    assert again.read() == expected(again.log.first_offset, again.log.next_offset)
    assert again.damages == []
