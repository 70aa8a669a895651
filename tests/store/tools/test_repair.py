"""Repair: what is damaged is out of the way, all else is where it was."""

import random
import shutil
from types import SimpleNamespace

import pytest

from pybroker.store import format as fmt
from pybroker.store.disk import Disk
from pybroker.store.format import segment_number
from pybroker.store.log_path import log_folder
from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.segments.newest import NAME as NEWEST
from pybroker.store.tools.repair import repair
from pybroker.store.tools.scrub import Scrub, scrub_definitions, scrub_log
from tests.store.data_folder import DataFolder, contents, done, flip
from tests.store.journals import open_segment


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    data = DataFolder(tmp_path_factory.mktemp("template") / "data")
    data.busy(random.Random(7), 60)
    data.node.close()
    data.definitions.stop()
    return data


@pytest.fixture
def data(template, tmp_path):
    """A data folder after a clean stop, and what lives in it."""
    path = shutil.copytree(template.path, tmp_path / "data")
    return SimpleNamespace(path=path, log=Disk(log_folder(path)), expected=template.expected)


def damage_of(data):
    scrub = Scrub()
    done(scrub_log(data.log, scrub))
    scrub_definitions(Disk(data.path), scrub)
    return scrub.damage + scrub.notes


def test_what_is_sound_is_left_alone(data):
    before = {name: data.log.read_file(name) for name in data.log.names()}
    assert [] == done(repair(data.path))[1]
    assert before == {name: data.log.read_file(name) for name in data.log.names()}


@pytest.mark.parametrize("seed", range(40))
def test_after_it_nothing_complains_and_only_what_was_damaged_is_missing(seed, data):
    rng = random.Random(seed)
    flips = rng.choice((1, 1, 3, 10))
    for _ in range(flips):
        flip(data.log.root / rng.choice([name for name in data.log.names() if name.startswith(("seg.", "ckpt."))]), rng)
    assert damage_of(data)
    told = " ".join(done(repair(data.path))[1])
    assert [] == damage_of(data)
    assert [] == done(repair(data.path))[1]
    found = contents(data.path)
    for queue, messages in data.expected.items():
        assert not messages.keys() - found[queue].keys() or "lost" in told or "unknown" in told
        assert not found[queue].keys() - messages.keys() or "delivered again" in told or "unknown" in told
        assert all(found[queue][seq] == body for seq, body in messages.items() if seq in found[queue])


def test_damaged_octets_and_checkpoints_are_kept_aside(data):
    name = next(name for name in data.log.names() if name.startswith("ckpt."))
    (data.log.root / name).write_bytes(b"nothing")
    told = done(repair(data.path))[1]
    assert any(name in text for text in told)
    assert b"nothing" == (data.log.root / QUARANTINE / name).read_bytes()
    assert name not in data.log.names()


def test_a_segment_without_a_single_sound_record_goes(data):
    name = next(name for name in data.log.names() if name.startswith("seg."))
    path = data.log.root / name
    path.write_bytes(path.read_bytes()[:64] + b"\xff" * (path.stat().st_size - 64))
    done(repair(data.path))
    assert name not in data.log.names()
    assert [] == damage_of(data)


def test_batches_of_which_nothing_is_left_leave_no_gap(data):
    file = open_segment(data.log, next(n for name in data.log.names() if (n := segment_number(name)) is not None))
    heads = [found.offset for found in file.scan_all() if found.type == fmt.BATCH]
    file.close()
    path = data.log.root / file.name
    octets = path.read_bytes()
    path.write_bytes(octets[: heads[2]] + b"\xff" * (heads[4] - heads[2]) + octets[heads[4] :])
    assert damage_of(data)
    done(repair(data.path))
    assert [] == damage_of(data)
    file = open_segment(data.log, file.number)
    commit_positions = [
        fmt.decode_batch(found.payload).commit_position for found in file.scan_all() if found.type == fmt.BATCH
    ]
    file.close()
    assert commit_positions == list(range(commit_positions[0], commit_positions[0] + len(heads)))


def test_where_messages_went_is_taken_from_the_footer_if_no_record_says_it(data):
    scrub = Scrub()
    done(scrub_log(data.log, scrub))
    for name in data.log.names():
        number = segment_number(name)
        if number is not None:
            file = open_segment(data.log, number)
            said = [found.offset for found in file.scan_all() if found.type == fmt.TARGETS]
            file.close()
            octets = bytearray((data.log.root / name).read_bytes())
            for offset in said:
                octets[offset] ^= 1
            (data.log.root / name).write_bytes(octets)
    assert any("have lost the record of their queues" in text for text in damage_of(data))
    done(repair(data.path))
    assert [] == damage_of(data)
    assert contents(data.path) == data.expected


def test_where_messages_went_is_told_in_front_of_them_again(tmp_path):
    data = DataFolder(tmp_path / "data")
    for seq in range(1, 20):
        data.node.publish([b"%d" % seq * 100], (1, 2))
        data.node.commit()
    data.node.tick()
    data.node.tick()
    data.definitions.stop()
    file = open_segment(data.log, 1)
    said = [found.offset for found in file.scan_all() if found.type == fmt.TARGETS]
    file.close()
    assert len(said) > 2
    octets = bytearray((data.log.root / file.name).read_bytes())
    octets[said[0]] ^= 1
    (data.log.root / file.name).write_bytes(octets)
    done(repair(data.path))
    assert [] == damage_of(data)
    file = open_segment(data.log, 1)
    kinds = [found.type for found in file.scan_all()]
    file.close()
    # A reader that starts from the beginning, to write it anew, needs to know.
    assert kinds[:3] == [fmt.BATCH, fmt.TARGETS, fmt.PUBLISH]
    assert list(contents(data.path)[2]) == list(range(1, 20))


def test_definitions_are_restored_from_their_snapshot(data):
    path = data.path / "definitions.sqlite"
    path.write_bytes(b"\0" * 10_000)
    told = done(repair(data.path))[1]
    assert "3 definitions were restored from definitions.json" in told[0]
    assert [] == damage_of(data)


def test_a_folder_without_a_log_has_none_to_repair(tmp_path):
    assert [] == done(repair(tmp_path))[1]


def test_the_file_that_has_the_newest_segment_is_the_data_folders(data):
    assert NEWEST not in data.log.names()
    newest = (data.path / NEWEST).read_bytes()
    assert [] == done(repair(data.path))[1]
    assert NEWEST not in data.log.names()
    assert newest == (data.path / NEWEST).read_bytes()
