"""A log's id is known to nobody who cannot read it, and to who can as long as one of its places is left."""

import errno
import random
import shutil
from array import array

import pytest

from pybroker.store import format as fmt
from pybroker.store.disk import Disk, DiskError
from pybroker.store.log_path import log_folder
from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.segments import log_id as log_ids
from pybroker.store.segments.checkpoint import LOG_ID_AT, Checkpoint, checkpoint_name, write_checkpoint
from pybroker.store.segments.log_id import find
from pybroker.store.segments.segment import SegmentFile
from pybroker.store.tools import backup
from pybroker.store.tools.repair import repair
from pybroker.store.tools.scrub import Scrub, scrub_log
from tests.store.data_folder import DataFolder, contents, done
from tests.store.faulty_disk import FaultyDisk
from tests.store.journals import Node, open_segment
from tests.store.records import publish, run_of

FIRST = fmt.segment_name(1)
BEGUN = checkpoint_name(0)


@pytest.fixture
def disk():
    """A log of one segment: three messages in a batch each, and no checkpoint but that of its beginning."""
    return lived(FaultyDisk())


def lived(disk):
    node = Node(disk)
    for body in (b"one", b"two" * 100, b"three"):
        node.publish([body])
        node.commit()
    return disk


# -- where it stands ---------------------------------------------------------------------------------------------------


def test_each_log_has_its_own_for_good():
    disks = [lived(FaultyDisk()) for _ in range(4)]
    drawn = [find(disk).log_id for disk in disks]
    assert len(set(drawn)) == 4
    for disk, log_id in zip(disks, drawn, strict=True):
        node = Node(disk)
        node.publish([b"more"])
        node.close()
        assert (node.log.log_id, Node(disk).log.log_id) == (log_id, log_id)
        assert {SegmentFile(disk, number, log_id).header.log_id for number in (1, 2)} == {log_id}
        assert {each.log_id for each in find(disk).checkpoints} == {log_id}


def test_it_stands_in_two_places_before_there_is_a_record(disk):
    log_id = find(disk).log_id
    assert disk.names()[0] == BEGUN
    for name in (BEGUN, FIRST):
        broken = disk.crash(random.Random(1))
        broken.damage(name, 0, b"\xff" * 64)
        assert find(broken)[:2] == (log_id, True)
        found = Node(broken)
        # The lack of a checkpoint is reported as well.
        assert (found.live(), len(found.recovered.reports)) == ([1, 2, 3], 2 if name == BEGUN else 1)
        # Now there are two again.
        assert len(find(broken).checkpoints) == 1


@pytest.mark.parametrize(("flipped", "live"), [(0, [1, 2, 3]), (1, [1, 2, 3]), (2, [])])
def test_if_all_places_are_damaged_the_number_may_be_right_in_one(disk, flipped, live):
    at = {BEGUN: LOG_ID_AT, FIRST: fmt.LOG_ID_AT}
    for name in at:
        disk.damage(name, 0, b"X")
    for name in list(at)[:flipped]:
        disk.flip(name, 8 * at[name] + 5)
    log_id = int.from_bytes(disk.read_file(FIRST)[fmt.LOG_ID_AT : fmt.LOG_ID_AT + 4], "little")
    assert find(disk).told == (flipped < 2)
    node = Node(disk)
    assert (node.live(), node.log.log_id == log_id) == (live, flipped < 2)
    assert len(node.recovered.reports) >= 2


def test_a_log_whose_id_nobody_knows_is_reported_and_kept_and_the_node_starts(disk):
    records = disk.read_file(FIRST).rstrip(b"\0")[64:]
    for name in (BEGUN, FIRST):
        disk.damage(name, 0, b"\xff" * 64)
    node = Node(disk)
    assert "the id of the log is in no segment and no checkpoint: the log is unreadable" in node.recovered.reports
    assert node.recovered.is_damaged
    assert node.recovered.cut == ""
    (kept,) = disk.below(QUARANTINE).names()
    assert disk.below(QUARANTINE).read_file(kept).rstrip(b"\0") == records
    node.publish([b"after"])
    node.commit()
    assert len(Node(disk).live()) == 1


def test_the_files_of_another_log_are_left_out(disk):
    log_id = find(disk).log_id
    write_checkpoint(disk, Checkpoint(log_id + 1, 9, 500, settled={1: {1: array("Q", [1, 3])}}), [0])
    disk.write_file(fmt.segment_name(2), fmt.segment_header(2, log_id, 0))
    known = find(disk)
    assert known.complaints == [f"checkpoint {checkpoint_name(9)} is ignored: it belongs to another log"]
    assert (known.log_id, [each.commit_position for each in known.checkpoints]) == (log_id, [0])
    assert Node(disk).live() == [1, 2, 3]


def test_to_look_for_it_changes_nothing():
    disk = FaultyDisk()
    assert not find(disk).told
    assert (disk.names(), disk.power.operations) == ([], 0)


def test_a_full_disk_does_not_keep_a_log_from_beginning():
    disk = FaultyDisk()
    disk.fail_next("create", errno.ENOSPC, 2)
    node = Node(disk)
    assert disk.names() == []
    node.publish([b"a"])
    node.commit()
    assert Node(disk).log.log_id == node.log.log_id
    broken = FaultyDisk()
    broken.fail_next("create", errno.EIO)
    with pytest.raises(DiskError):
        Node(broken)


def test_a_newer_version_is_refused_wherever_it_stands(disk, monkeypatch):
    monkeypatch.setattr(fmt, "VERSION", 2)
    header = fmt.segment_header(1, 5, 0)
    monkeypatch.undo()
    disk.damage(FIRST, 0, header)
    with pytest.raises(fmt.VersionError):
        find(disk)


# -- what it is for ----------------------------------------------------------------------------------------------------


def forged(log_id):
    """Return what a publisher would like to have in the log's first segment: messages, and settles of others' ones."""
    seed = fmt.seed(log_id, 1)
    records = [
        fmt.targets(77, 0, False, (1,), seed),
        publish(run_of([b"forged"], 1_000), 77, seed),
        fmt.settle([(1, 0, array("Q", [1, 1]))], seed),
    ]
    body = b"".join(records)
    return fmt.batch_header(4, 0, len(records), len(body), seed) + body + fmt.proven(99, seed)


def attacked(disk, log_id, damage):
    """Let a log live with a message whose body has such records, and damage in front of them."""
    node = Node(disk)
    for body in (b"victim", b"before " + forged(node.log.log_id if log_id is None else log_id) + b" behind", b"last"):
        node.publish([body])
        node.commit()
    node.tick()
    node.tick()
    name = log_name(disk)
    at = disk.read_file(name).index(b"before ")
    disk.damage(name, *damage(at)) if isinstance(disk, FaultyDisk) else overwrite(disk, name, *damage(at))
    return node.log.log_id


def log_name(disk):
    (name,) = (name for name in disk.names() if fmt.segment_number(name) is not None)
    return name


def overwrite(disk, name, at, octets):
    file = disk.open(name, write=True)
    disk.write_at(file, at, octets)
    disk.close(file)


DAMAGES = {
    "body": lambda at: (at, b"B"),
    "head": lambda at: (at - 120, bytes(100)),
    "sector": lambda at: (at - 200, b"\xff" * 200),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("guess", [0, 1, 0xDEADBEEF])
def test_a_record_in_a_message_is_no_record_also_behind_damage(guess, damage):
    disk = FaultyDisk()
    assert attacked(disk, guess, damage) != guess
    scrub = Scrub()
    done(scrub_log(disk, scrub))
    assert scrub.damage
    assert scrub.messages <= 3
    node = Node(disk)
    assert node.recovered.reports
    assert set(node.live()) <= {1, 3}
    assert 3 in node.live()
    assert node.log.last_commit_position == 3
    assert b"forged" not in node.bodies(node.live()).values()
    # The victim is lost with damage to its own octets alone, and not by being settled.
    assert (1 in node.live()) == (damage is not DAMAGES["sector"])


def test_one_who_knew_the_log_id_would_get_it_in():
    disk = FaultyDisk()
    attacked(disk, None, DAMAGES["head"])
    node = Node(disk)
    assert 1_000 in node.live()
    assert 1 not in node.live()


@pytest.mark.parametrize("damage", [DAMAGES["body"], DAMAGES["head"]], ids=["body", "head"])
def test_repair_takes_no_such_record_either(tmp_path, damage):
    data = DataFolder(tmp_path / "data")
    attacked(data.log, 0, damage)
    data.definitions.stop()
    told = done(repair(data.path))[1]
    assert any(text.startswith("the log is damaged") for text in told)
    scrub = Scrub()
    done(scrub_log(data.log, scrub))
    assert (scrub.damage, scrub.messages) == ([], 2)
    assert contents(data.path)[1] == {1: b"victim", 3: b"last"}


# -- elsewhere ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damaged", ["", "seg.", "ckpt."])
def test_a_backup_that_is_restored_has_the_log_id_and_can_lose_one_of_its_places(tmp_path, damaged):
    data = DataFolder(tmp_path / "data")
    data.busy(random.Random(3), 30)
    data.node.commit()
    expected = data.snapshot()
    done(backup.create(data.path, tmp_path / "backup", data.hold(), 0))
    data.definitions.stop()
    shutil.copytree(tmp_path / "backup", tmp_path / "moved")
    done(backup.check(tmp_path / "moved"))
    (tmp_path / "restored").mkdir()
    done(backup.restore(tmp_path / "moved", tmp_path / "restored"))
    log = Disk(log_folder(tmp_path / "restored"))
    for name in log.names():
        if damaged and name.startswith(damaged):
            overwrite(log, name, 9, b"\xff\xff\xff\xff\xff\xff\xff")
    assert find(log)[:2] == (data.node.log.log_id, True)
    scrub = Scrub()
    done(scrub_log(log, scrub))
    assert bool(scrub.damage) == bool(damaged)
    if damaged != "ckpt.":
        assert contents(tmp_path / "restored") == expected
    done(repair(tmp_path / "restored"))
    scrub = Scrub()
    done(scrub_log(log, scrub))
    assert scrub.damage == []
    assert open_segment(log, 1).header.log_id == data.node.log.log_id


def test_it_is_drawn_from_the_system(monkeypatch):
    monkeypatch.setattr(log_ids.os, "urandom", lambda octets: bytes(range(1, octets + 1)))
    assert log_ids.draw() == 0x01020304
