"""Survey: every octet is looked at; damage is told apart from what a kill leaves behind."""

import random
import shutil

import pytest

from pybroker.store.disk import Disk
from pybroker.store.format import HEADER_OCTETS, segment_number
from pybroker.store.tools.scrub import Scrub, scrub_definitions, scrub_log
from tests.store.data_folder import DataFolder, done, flip


@pytest.fixture
def data(tmp_path):
    data = DataFolder(tmp_path / "data")
    data.busy(random.Random(5), 60)
    return data


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """A log after a clean stop."""
    data = DataFolder(tmp_path_factory.mktemp("sealed") / "data")
    data.busy(random.Random(5), 60)
    data.node.close()
    return data.log.root


def scrubbed(disk, used=None):
    scrub = Scrub()
    steps, _ = done(scrub_log(disk, scrub, used))
    return scrub, steps


def test_a_sound_log_is_counted_and_not_changed(data):
    data.node.close()
    before = {name: data.log.read_file(name) for name in data.log.names()}
    scrub, steps = scrubbed(data.log)
    assert ([], []) == (scrub.damage, scrub.notes)
    assert scrub.segments == len([name for name in before if segment_number(name) is not None])
    assert (
        scrub.batches
        == data.node.log.last_commit_position
        - min(segment.first_commit_position for segment in data.node.log.live_index.segments)
        + 1
    )
    assert scrub.messages >= max(len(messages) for messages in data.expected.values())
    assert steps[-1] == (scrub.octets, scrub.octets)
    assert before == {name: data.log.read_file(name) for name in data.log.names()}


def test_a_node_that_writes_is_read_up_to_what_it_holds(data):
    moment = data.hold()
    data.busy(random.Random(6), 30)
    scrub, _ = scrubbed(data.log, dict(moment.segments))
    assert ([], []) == (scrub.damage, scrub.notes)
    assert scrub.segments == len(moment.segments)
    scrub, _ = scrubbed(data.log, {**dict(moment.segments), 999: 0})
    assert ["seg.00000000000003e7 is missing"] == scrub.damage


def test_what_a_kill_leaves_is_no_damage(tmp_path):
    data = DataFolder(tmp_path / "data")
    data.node.publish([b"whole"])
    data.node.commit()
    used = data.node.log.live_index.segments[-1].used
    data.node.publish([b"x" * 300])
    data.node.commit()
    name = next(name for name in data.log.names() if segment_number(name) is not None)
    octets = (data.log.root / name).read_bytes()
    (data.log.root / name).write_bytes(octets[: used + 100] + bytes(len(octets) - used - 100))
    scrub, _ = scrubbed(data.log)
    assert ([], 1) == (scrub.damage, scrub.messages)
    assert len(scrub.notes) == 1
    assert "ends in an incomplete, unconfirmed batch" in scrub.notes[0]


@pytest.mark.parametrize("seed", range(100))
def test_a_flipped_bit_of_a_sealed_log_is_found(seed, sealed, tmp_path):
    rng = random.Random(seed)
    shutil.copytree(sealed, tmp_path / "copy")
    names = [name for name in Disk(sealed).names() if name.startswith(("seg.", "ckpt."))]
    name = rng.choice(names)
    at = flip(tmp_path / "copy" / name, rng)
    scrub, _ = scrubbed(Disk(tmp_path / "copy"))
    assert scrub.damage, f"{name} at {at}"
    assert name in scrub.damage[0]


def test_a_header_that_is_damaged_is_told(data):
    data.node.close()
    name = next(name for name in data.log.names() if segment_number(name) is not None)
    octets = bytearray(data.log.read_file(name))
    octets[HEADER_OCTETS - 1] ^= 1
    (data.log.root / name).write_bytes(octets)
    scrub, _ = scrubbed(data.log)
    assert [f"segment {name}: the header of the segment is damaged"] == scrub.damage


def test_definitions_are_counted_and_judged(data):
    scrub = Scrub()
    scrub_definitions(Disk(data.path), scrub)
    assert ([], 3) == (scrub.damage, scrub.definitions)
    data.definitions.stop()
    path = data.path / "definitions.sqlite"
    path.write_bytes(path.read_bytes().replace(b'"id":2', b'"id":3'))
    scrub = Scrub()
    scrub_definitions(Disk(data.path), scrub)
    assert "1 rows of the table queue have wrong checksums" in scrub.damage
    path.unlink()
    scrub = Scrub()
    scrub_definitions(Disk(data.path), scrub)
    assert (scrub.damage, len(scrub.notes)) == ([], 1)


def test_where_no_node_ever_ran_there_is_nothing(tmp_path):
    assert Scrub() == scrubbed(Disk(tmp_path))[0]
