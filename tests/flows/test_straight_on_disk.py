"""Entries that go straight into their stream's files, on a disk that fails, is killed and loses power at any call."""

import contextlib
import errno
import random

import pytest

from pybroker.core.stream.pieces import recover, straight
from pybroker.core.stream.tracking import Tracking
from pybroker.store.journal.journal import Journal
from pybroker.store.streams.folder import STREAMS, folder_name
from pybroker.store.streams.format import index_name
from pybroker.store.streams.straight import CommittedSeqs
from pybroker.store.streams.stream_log import StreamLog
from tests.fakes import Queue
from tests.flows.straight import LARGE, Model, large, live_of, publish
from tests.flows.test_streams_on_disk import StreamLife
from tests.store.faulty_disk import PowerLoss
from tests.store.simulator.disk import SimulatedDisk, SimulatedPower, of_faulty


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(straight, "OCTETS_MIN", 300)
    monkeypatch.setattr(recover, "LOGGED_MESSAGES_MAX", 2)


@pytest.fixture
def life():
    return StreamLife(SimulatedDisk())


def on_disk(life):
    """Return the octets of the journal's messages."""
    return b"".join([bytes(file.seen) for name, file in life.disk.files.items() if name.startswith("seg.")])


def test_much_of_a_batch_is_written_into_the_files_and_not_into_the_log(life):
    receipt = publish(life, large(0), number=7)
    life.log.commit()
    life.answer()
    assert receipt.completed
    assert (1, 1) == (life.stream.files.next_offset, life.stream.next_offset)
    assert b"x" * LARGE not in on_disk(life)
    assert 0 == life.stream.pending
    for again in (life.killed(), StreamLife(life.disk.killed(SimulatedPower())), life.stopped()):
        again.answer()
        assert {0: large(0)} == {offset: body for offset, (_, body) in again.chunks().items()}
        assert 7 == again.stream.tracking.publisher_id("p")


def test_little_of_a_batch_goes_with_the_log(life):
    publish(life, b"few")
    life.log.commit()
    life.answer()
    assert b"few" in on_disk(life)
    assert 0 == life.world.broker.streams.straight.writes_total


def test_what_has_not_moved_goes_first(life):
    publish(life, b"few")
    life.publish(b"amqp")
    life.answer()
    publish(life, large(2))
    life.log.commit()
    life.answer()
    assert (3, 0) == (life.stream.files.next_offset, life.stream.pending)
    life = life.killed()
    assert [0, 1, 2] == list(life.read())
    assert 3 == life.stream.files.next_offset


def test_nobody_has_a_message_before_the_log_has_its_mark(life):
    receipt = publish(life, large(0), number=1)
    life.log.commit()
    life.workers[2].run()  # the files, and not the log
    assert (0, 0, 0) == (life.stream.files.next_offset, life.stream.next_offset, receipt.completed)


def test_a_write_that_the_log_did_not_commit_is_cut_off(life):
    publish(life, large(0), number=1)
    life.log.commit()
    life.answer()
    publish(life, large(1), number=2)
    life.log.commit()
    life.workers[2].run()
    life = StreamLife(life.disk.killed(SimulatedPower()))
    life.answer()
    assert (1, 1) == (life.stream.files.next_offset, life.stream.tracking.publisher_id("p"))
    assert [] == life.stream.files.reports
    assert "unconfirmed" in life.stream.files.cut
    publish(life, large(2), number=3)
    life.log.commit()
    life.answer()
    assert {0: large(0), 1: large(2)} == {offset: body for offset, (_, body) in life.killed().chunks().items()}


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EMFILE])
@pytest.mark.parametrize("operation", ["create", "write_at", "sync", "sync_folder"])
def test_files_that_cannot_be_written_leave_it_to_the_log(life, operation, number):
    life.workers[0].run()
    receipt = publish(life, large(0), number=1)
    life.log.commit()
    life.disk.fail_next(operation, number)
    life.workers[2].run()
    life.answer()
    assert receipt.completed
    assert large(0) in on_disk(life)
    life = StreamLife(life.disk.killed(SimulatedPower()))
    life.answer()
    assert {0: large(0)} == {offset: body for offset, (_, body) in life.chunks().items()}
    assert 1 == life.stream.tracking.publisher_id("p")


def test_a_move_that_is_under_way_comes_first(life):
    publish(life, b"few")
    life.log.commit()
    life.answer()
    life.move()
    receipt = publish(life, large(1))
    life.log.commit()
    life.answer()
    assert receipt.completed
    assert 1 == life.world.broker.streams.straight.writes_total
    assert [0, 1] == list(life.killed().chunks())


def test_a_stream_that_is_deleted_meanwhile_holds_nobody_up(life):
    receipt = publish(life, large(0), number=1)
    life.log.commit()
    life.peer.send(Queue.Delete(queue="s"))
    life.answer()
    life.log.commit()
    life.answer()
    assert receipt.completed
    assert not {life.stream.id, life.stream.tracking.id} & {
        queue_id for each in life.log.live_index.segments for queue_id, count in each.pairs.items() if count
    }


def test_a_stop_waits_for_it(life):
    publish(life, large(0), number=1)
    life.log.commit()
    done = []
    life.log.close({}, done.append)
    life.answer()
    assert [None] == done
    assert {0: large(0)} == {offset: body for offset, (_, body) in StreamLife(life.disk).chunks().items()}


def test_without_a_sync_a_kill_loses_nothing_and_a_loss_of_power_is_told(life):
    publish(life, large(0))
    life.log.commit()
    life.answer()
    life.world.broker.settings.stream_durability = "os"
    syncs = life.disk.power.counts["sync"]
    receipt = publish(life, large(1), number=1)
    life.log.commit()
    life.answer()
    assert receipt.completed
    assert life.disk.power.counts["sync"] == syncs + 1  # the log's
    again = StreamLife(life.disk.killed(SimulatedPower()))
    assert [large(0), large(1)] == [body for _, body in again.chunks().values()]
    (file,) = [each for name, each in stream_folder(life).files.items() if name.endswith(".log")]
    file.seen, file.pending = bytearray(file.durable), []
    again = StreamLife(life.disk.killed(SimulatedPower()))
    assert [large(0)] == [body for _, body in again.chunks().values()]
    assert ["message 1 is lost" in report for report in again.stream.files.reports] == [True]
    stream_folder(life).unlink(index_name(0))
    again = StreamLife(life.disk.killed(SimulatedPower()))
    assert ["confirmed are lost" in report for report in again.stream.files.reports] == [True]


def stream_folder(life):
    return life.disk.folder(STREAMS).folder(folder_name(life.stream.id))


def live(seeds, *, failures=False):
    """Have several lives of several models; return how many straight writes they had."""
    writes = 0
    for seed in seeds:
        model = Model(seed, failures=failures)
        for _ in range(6):
            model.live()
        writes += model.straight
    return writes


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_what_was_promised_survives_kills_and_losses_of_power(first):
    assert live(range(first, first + 10)) > 10


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_what_was_promised_survives_failures(first):
    assert live(range(first, first + 10), failures=True) > 10


@pytest.mark.slow
@pytest.mark.parametrize("failures", [False, True])
def test_what_was_promised_survives_very_many(failures):
    live(range(1_000, 4_000), failures=failures)


def no_sync(monkeypatch):
    monkeypatch.setattr(SimulatedDisk, "sync", lambda self, file: None)


def nothing_is_cut_off(monkeypatch):
    monkeypatch.setattr(CommittedSeqs, "of", lambda self, stream_id: None)


def everything_is_cut_off(monkeypatch):
    monkeypatch.setattr(CommittedSeqs, "of", lambda self, stream_id: 0)


def no_mark(monkeypatch):
    monkeypatch.setattr(Tracking, "mark", lambda *arguments: None)


def the_log_does_not_wait(monkeypatch):
    """The mark is committed with the batch, whatever becomes of the files."""
    begin = straight.Straight._begin

    def began(self, write):
        there = begin(self, write)
        if there:
            self._batch[0].withdraw_entries(write.stream.id)
            write.stream.tracking.mark(self._batch[0], 0, write.seq)
        return False

    monkeypatch.setattr(straight.Straight, "_begin", began)
    monkeypatch.setattr(straight.Straight, "_written", lambda self, write, error: None)


def files_count_at_once(monkeypatch):
    written = StreamLog._written_straight

    def counted(self, numbers, done, result):
        written(self, numbers, done, result)
        if self._uncommitted is not None:
            self._count(*self._uncommitted)

    monkeypatch.setattr(StreamLog, "_written_straight", counted)


MUTANTS = [
    no_sync,
    nothing_is_cut_off,
    everything_is_cut_off,
    no_mark,
    the_log_does_not_wait,
    files_count_at_once,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_program_that_cheats_is_caught(mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(Exception):  # noqa: B017 - whatever shows it
        live(range(300))


def test_a_mark_that_cannot_be_read_stays(life, monkeypatch):
    publish(life, large(0), number=1)
    life.log.commit()
    life.answer()
    monkeypatch.setattr(Journal, "fetch", lambda self, queue_id, part, done: done([]))
    life = StreamLife(life.disk.killed(SimulatedPower()))
    life.log.commit()
    life.answer()
    stream_folder(life).unlink(index_name(0))
    life = StreamLife(life.disk.killed(SimulatedPower()))
    assert 1 == life.stream.files.next_offset


def test_a_write_before_the_mark_is_read_back_settles_it_once(life):
    publish(life, large(0), number=1)
    life.log.commit()
    life.answer()
    life = StreamLife(life.disk.killed(SimulatedPower()))
    receipt = publish(life, large(1))
    life.log.commit()
    for worker in (life.workers[2], life.workers[0]):  # the files and the log, and nothing is read back
        worker.run()
    assert (bool(receipt.completed), life.stream.tracking.is_ready) == (True, False)
    life.answer()
    life.log.commit()
    life.answer()
    # The mark, and the publisher's number.
    assert 2 == live_of(life.log, life.stream.tracking.id)
    life = StreamLife(life.disk.killed(SimulatedPower()))
    assert 2 == live_of(life.log, life.stream.tracking.id)


def story(life, confirmed):
    """Publish small and large batches so that segments roll, move some, and truncate; note what is confirmed."""
    number = 0
    for sizes in ((1, 1), (800,), (1, 900), (1_500, 900), (1,), (700, 700), (3_000,), (1,), (600,)):
        bodies = []
        for size in sizes:
            number += 1
            bodies.append(b"%d " % number + b"x" * size)
        receipt = publish(life, *bodies, number=number)
        life.log.commit()
        life.answer()
        assert receipt.completed
        confirmed.append(number)
        if sizes == (1,):
            life.move()
            life.answer()
    life.stream.truncate(3, lambda error: None)
    life.answer()


def test_the_power_goes_or_the_process_ends_at_every_operation():
    whole = SimulatedDisk(SimulatedPower())
    story(StreamLife(whole), [])
    operations = whole.power.operations
    assert operations > 100
    for at in range(1, operations):
        confirmed = [0]
        disk = SimulatedDisk(SimulatedPower(crash_at=at))
        with contextlib.suppress(PowerLoss):
            story(StreamLife(disk), confirmed)
        rng = random.Random(at)
        for left in (disk.killed(SimulatedPower()), of_faulty(disk.crash(rng)), of_faulty(disk.crash(rng))):
            life = StreamLife(left)
            life.answer()
            numbers = [int(body.split()[0]) for _, body in life.chunks().values()]
            last = numbers[-1] if numbers else 0
            assert numbers == list(range(last - len(numbers) + 1, last + 1))
            assert last - len(numbers) in {0, 3}
            assert confirmed[-1] <= last == (life.stream.tracking.publisher_id("p") or 0)
            assert [] == life.stream.files.reports
