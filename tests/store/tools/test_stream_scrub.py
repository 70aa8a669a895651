"""Verification of streams: every octet is looked at; damage is told apart from what a kill leaves behind."""

import random

import pytest

from pybroker.store.streams.format import index_name, segment_name
from pybroker.store.tools.scrub import Scrub
from pybroker.store.tools.stream_scrub import scrub_streams
from tests.store.data_folder import done
from tests.store.faulty_disk import FaultyDisk
from tests.store.streams.lives import STREAM, Life, segment_files

MESSAGES = 45


@pytest.fixture
def life():
    life = Life(FaultyDisk())
    life.fill(MESSAGES, 3, segment_octets=2_000)
    return life


def scrubbed(life, *, running=False):
    scrub = Scrub()
    steps, _ = done(scrub_streams(life.disk, scrub, running=running))
    return scrub, steps


@pytest.mark.parametrize("running", [False, True])
def test_sound_streams_are_counted(life, running):
    Life(life.disk, 9)
    scrub, steps = scrubbed(life, running=running)
    assert (scrub.damage, scrub.notes, scrub.streams, scrub.messages) == ([], [], 2, MESSAGES)
    assert (scrub.segments, scrub.octets) == (life.log.segment_count, life.log.octets)
    assert steps[-1] == (scrub.octets, scrub.octets)


def test_without_streams_there_is_nothing():
    life = Life.__new__(Life)
    life.disk = FaultyDisk()
    assert scrubbed(life)[0] == Scrub()


@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_bit_is_found(life, seed):
    rng = random.Random(seed)
    name = rng.choice(life.folder.names())
    life.folder.flip(name, rng.randrange(8 * life.folder.size_of(name)))
    scrub, _ = scrubbed(life)
    assert scrub.damage
    assert name.replace(".idx", ".log") in scrub.damage[0]
    assert scrub.notes == []


def test_an_end_that_is_missing_is_found(life):
    name = segment_files(life.folder)[0]
    file = life.folder.open(name, write=True)
    life.folder.truncate(file, 300)
    life.folder.close(file)
    (text,) = scrubbed(life)[0].damage
    assert f"{name}: " in text
    assert text.endswith(" are lost")


def test_a_segment_that_is_missing_is_found(life):
    name = segment_files(life.folder)[1]
    life.folder.unlink(name)
    (text,) = scrubbed(life)[0].damage
    assert "its end is missing: messages " in text
    for name in segment_files(life.folder):
        life.folder.unlink(name)
    assert scrubbed(life)[0].damage == [f"streams/{STREAM:016x}/{name} is missing"]
    life.ask("truncate", 20)
    assert "no segment is left" in scrubbed(life)[0].damage[0]


def test_meta_that_is_missing_is_found(life):
    life.folder.unlink("meta")
    assert scrubbed(life)[0].damage == ["streams/0000000000000007/meta is missing"]


def test_what_a_kill_leaves_is_no_damage(life):
    name = segment_files(life.folder)[-1]
    file = life.folder.open(name, write=True)
    life.folder.write_at(file, life.folder.size_of(name), b"x" * 100)
    life.folder.close(file)
    scrub, _ = scrubbed(life)
    assert scrub.damage == []
    assert "ends in an incomplete, unconfirmed write (100 octets)" in scrub.notes[0]
    assert scrubbed(life, running=True)[0].notes == []
    life.folder.close(life.folder.create(segment_name(MESSAGES)))
    scrub, _ = scrubbed(life)
    assert scrub.damage == []
    assert "has no complete chunk" in scrub.notes[0]
    assert scrubbed(life, running=True)[0].notes == []


def test_indexes_that_are_missing_are_no_damage(life):
    for name in segment_files(life.folder):
        life.folder.unlink(name.replace(".log", ".idx"))
    assert scrubbed(life)[0].damage == []
    assert index_name(0) not in life.folder.names()


def test_segments_that_go_while_a_node_runs_are_no_damage(life):
    work = scrub_streams(life.disk, scrub := Scrub(), running=True)
    next(work)
    life.ask("retain", 2_000, None)
    life.fill(90, 3)
    done(work)
    assert (scrub.damage, scrub.notes) == ([], [])
    work = scrub_streams(life.disk, scrub := Scrub(), running=True)
    next(work)
    life.ask("delete")
    done(work)
    assert (scrub.damage, scrub.notes) == ([], [])
