"""Repair of streams: after it nothing complains, and only what was damaged is missing."""

import random

import pytest

from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.streams.format import segment_name
from pybroker.store.tools.scrub import Scrub
from pybroker.store.tools.stream_repair import repair_streams
from pybroker.store.tools.stream_scrub import scrub_streams
from tests.store.data_folder import done
from tests.store.faulty_disk import FaultyDisk, PowerLoss
from tests.store.streams.lives import Life, expected, segment_files

MESSAGES = 45


@pytest.fixture
def life():
    life = Life(FaultyDisk())
    life.fill(MESSAGES, 3, segment_octets=2_000)
    return life


def damage_of(life):
    scrub = Scrub()
    done(scrub_streams(life.disk, scrub, running=False))
    return scrub.damage + scrub.notes


def repaired(life):
    return done(repair_streams(life.disk))[1]


def octets_of(life):
    return {name: life.folder.read_file(name) for name in life.folder.names()}


def test_what_is_sound_is_left_alone(life):
    before = octets_of(life)
    assert (repaired(life), octets_of(life)) == ([], before)


@pytest.mark.parametrize("seed", range(40))
def test_after_it_nothing_complains_and_only_what_was_damaged_is_missing(life, seed):
    rng = random.Random(seed)
    flips = rng.choice((1, 1, 3, 10))
    for _ in range(flips):
        name = rng.choice(life.folder.names())
        life.folder.flip(name, rng.randrange(8 * life.folder.size_of(name)))
    told = repaired(life)
    assert told
    assert (damage_of(life), repaired(life)) == ([], [])
    again = Life(life.disk)
    assert (again.log.reports, again.log.cut) == ([], "")
    # Damage at the end is a torn one if the index that proves it is damaged too.
    end = again.log.next_offset
    assert end == MESSAGES or (flips > 1 and end < MESSAGES)
    found = again.read()
    assert again.damages == []
    assert found.items() <= expected(0, MESSAGES).items()
    missing = expected(0, MESSAGES).keys() - found.keys()
    said = " ".join(told).replace("nothing is lost", "")
    assert bool(missing) == any(text in said for text in ("truncated", "is lost", "are lost"))
    again.fill(90)
    assert again.read(end) == expected(end, again.log.next_offset)


def test_damaged_octets_are_kept_aside(life):
    octets = life.folder.read_file(segment_name(0))
    at = octets.index(expected(4, 5)[4])
    life.folder.damage(segment_name(0), at, b"\xff")
    (told,) = repaired(life)
    name = told.rpartition(f"kept as {QUARANTINE}/")[2]
    assert told.startswith(f"stream 7 is damaged: {segment_name(0)}, ")
    assert "messages 3 to 5 are lost" in told
    assert b"\xff" in life.folder.folder(QUARANTINE).read_file(name)
    assert Life(life.disk).read() == expected(0, 3) | expected(6, MESSAGES)


@pytest.mark.parametrize("number", [0, 1, -1])
def test_messages_of_a_missing_end_become_a_gap(life, number):
    name = segment_files(life.folder)[number]
    file = life.folder.open(name, write=True)
    life.folder.truncate(file, 250)
    life.folder.close(file)
    assert "are lost" in repaired(life)[0]
    assert (damage_of(life), repaired(life)) == ([], [])
    again = Life(life.disk)
    assert again.log.next_offset == MESSAGES
    assert again.read()
    assert again.damages == []


def test_the_power_may_go_at_any_operation(monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.writer.POINT_DISTANCE_OCTETS", 1)
    operation = 1
    while True:
        life = Life(FaultyDisk())
        life.fill(MESSAGES, 3, segment_octets=2_000)
        octets = life.folder.read_file(segment_name(0))
        life.folder.damage(segment_name(0), octets.index(expected(4, 5)[4]), b"\xff")
        life.disk.crash_at(life.disk.power.operations + operation)
        try:
            repaired(life)
        except PowerLoss:
            life.disk = life.disk.crash(random.Random(operation))
        else:
            break
        repaired(life)
        assert damage_of(life) == []
        again = Life(life.disk)
        for offset in range(MESSAGES):
            assert again.read(offset) == {**expected(offset, 3), **expected(max(offset, 6), MESSAGES)}
        assert again.damages == []
        operation += 1
    assert operation > 5
