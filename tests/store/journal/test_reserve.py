"""The reserve is there until it is needed, and made again a while after."""

import errno

import pytest

from pybroker.store.journal.file_jobs import FileJobs
from pybroker.store.journal.reserve import AGAIN_MS, NAME, Reserve, remove
from pybroker.store.journal.writer import PREPARED
from tests.inline_worker import InlineWorker
from tests.store.faulty_disk import FaultyDisk


class World:
    def __init__(self):
        self.disk, self.worker, self.room, self.trouble = FaultyDisk(), InlineWorker(), [], []
        jobs = FileJobs(self.worker, self.trouble.append)
        self.reserve = Reserve(self.disk, jobs, lambda: self.room.append(1), self.trouble.append)

    def keep(self):
        self.reserve.make(5_000, 1_000)
        self.worker.run()


@pytest.fixture
def world():
    return World()


def test_it_is_made_and_the_next_segment_after_it(world):
    world.keep()
    assert {NAME: 5_000, PREPARED: 1_000} == {name: world.disk.size_of(name) for name in world.disk.names()}
    assert (True, [1], []) == (world.reserve.there, world.room, world.trouble)


def test_it_is_given_away_once_and_made_again_a_while_after(world):
    world.keep()
    for _ in range(2):
        world.reserve.give_away(100)
        world.worker.run()
    assert [] == world.disk.names()
    world.reserve.make_again(5_000, 1_000, 100 + AGAIN_MS - 1)
    world.worker.run()
    assert [] == world.disk.names()
    world.reserve.make_again(5_000, 1_000, 100 + AGAIN_MS)
    world.worker.run()
    assert [PREPARED, NAME] == world.disk.names()
    assert [] == world.trouble


def test_a_disk_that_stays_full_is_told(world):
    world.disk.fail_next("create", errno.ENOSPC)
    world.keep()
    assert (False, [], 1) == (world.reserve.there, world.room, len(world.trouble))


def test_one_that_is_too_small_is_made_anew(world):
    world.keep()
    world.reserve.make(6_000, 1_000)
    world.worker.run()
    assert 6_000 == world.disk.size_of(NAME)


def test_what_is_not_there_need_not_be_removed(world):
    world.keep()
    remove(world.disk, [NAME, "other"])
    assert [PREPARED] == world.disk.names()


def test_a_stop_does_not_wait_for_the_next_segment(world):
    world.reserve.prepare(1_000)
    world.reserve.close()
    world.worker.run()
    assert ([], [], []) == (world.disk.names(), world.room, world.trouble)
