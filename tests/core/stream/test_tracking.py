"""Publishing ids and offsets by name: one live message of the log each, as many as may be, back after a start."""

import pytest

from pybroker.core.stream import tracking as module
from pybroker.seq_ranges import SeqRanges
from pybroker.store.journal.batch_builder import BatchBuilder
from pybroker.store.streams.straight import MARK_PRIORITY
from tests.core.stream.test_streams import Gated


class Kept(Gated):
    """A log that gives back runs when it is told to; `gathers` is its open batch."""

    def __init__(self):
        super().__init__()
        self.runs = {}
        self.jobs = []
        self.gathers = 0

    @property
    def commit_position(self):
        return self.gathers

    def append(self, run, indexes, queue_ids):
        self.appended.append((run.first_seq, queue_ids))
        self.runs[run.first_seq] = run
        self.gathers = self.gathers or 1
        return self.gathers

    def fetch(self, queue_id, part, done):
        seqs = [seq for first, count, _ in part.ranges() for seq in range(first, first + count) if seq in self.runs]
        self.jobs.append(lambda: done([(self.runs[seq], range(1)) for seq in seqs]))

    def forget_queue(self, queue_id):
        self.settled.append(queue_id)

    def live(self):
        gone = {seq for _, first, last in self.settled for seq in range(first, last + 1)}
        return sorted(set(self.runs) - gone)


@pytest.fixture
def log(world):
    world.broker.log = made = Kept()
    return made


@pytest.fixture
def tracking(log, stream):
    return stream.tracking


def restored(make_stream, *seqs):
    """Return the tracking of the next life, for which the log has these seqs."""
    found = SeqRanges()
    for seq in seqs:
        found.add(seq, 1, 8)
    made = make_stream().tracking
    made.restore([(0, False, found)], 0)
    return made


def known(tracking, names):
    return "".join([name for name in names if tracking.publisher_id(name) is not None])


def test_values_are_known_by_name_and_kind(tracking):
    assert (tracking.publisher_id("a"), tracking.offset("a")) == (None, None)
    tracking.note_publisher("a", 5)
    tracking.store_offset("a", 1 << 63)
    tracking.note_publisher("b", 0)
    assert (tracking.publisher_id("a"), tracking.offset("a"), tracking.publisher_id("b")) == (5, 1 << 63, 0)


def test_a_value_is_one_live_message_of_an_id_of_its_own(log, stream, tracking):
    tracking.note_publisher("a", 5)
    log.gathers = 2
    tracking.note_publisher("a", 6)
    assert log.appended == [(1, (tracking.id,)), (2, (tracking.id,))]
    assert log.settled == [(tracking.id, 1, 1)]
    assert tracking.id != stream.id


def test_within_one_batch_a_value_is_written_once(make_stream, log, tracking):
    for number in range(5):
        tracking.note_publisher("a", number)
    assert (len(log.appended), log.settled) == (1, [])
    again = restored(make_stream, 1)
    log.jobs[0]()
    assert again.publisher_id("a") == 4


def test_a_batch_that_is_closed_does_not_change(log, tracking):
    tracking.store_offset("a", 1)
    log.gathers = 0
    tracking.store_offset("a", 2)
    assert (log.live(), len(log.appended)) == ([2], 2)


def test_they_are_known_when_they_are_read_back(make_stream, log, tracking):
    tracking.note_publisher("é", 5)
    tracking.store_offset("c", 7)
    again = restored(make_stream, *log.live())
    calls = []
    again.when_ready(lambda: calls.append(again.publisher_id("é")))
    assert calls == []
    log.jobs[0]()
    assert (calls, again.offset("c"), log.settled) == ([5], 7, [])
    again.when_ready(lambda: calls.append("at once"))
    assert calls == [5, "at once"]


def test_nobody_waits_for_what_a_deleted_stream_knew(make_stream, log, tracking):
    tracking.note_publisher("a", 5)
    again = restored(make_stream, *log.live())
    calls = []
    again.when_ready(lambda: calls.append(again.publisher_id("a")))
    again.forget()
    assert calls == [None]
    log.jobs[0]()
    assert (calls, again.publisher_id("a")) == ([None], None)


def test_without_anything_in_the_log_it_is_ready(tracking):
    calls = []
    tracking.when_ready(lambda: calls.append(1))
    assert calls == [1]


def test_damage_leaves_one_value_a_name_and_nothing_else(make_stream, log, tracking):
    tracking.note_publisher("a", 5)
    log.gathers = 2
    tracking.note_publisher("a", 6)
    log.settled.clear()  # it was damaged
    again = restored(make_stream, 1, 2, 9)
    log.jobs[0]()
    assert again.publisher_id("a") == 6
    assert log.settled == [(again.id, 1, 1), (again.id, 9, 9)]


def test_one_that_is_noted_while_others_are_read_back_changed_last(make_stream, log, tracking, monkeypatch):
    monkeypatch.setattr("pybroker.core.stream.tracking.PUBLISHERS_MAX", 2)
    for name in ("a", "b"):
        tracking.note_publisher(name, 1)
    again = restored(make_stream, *log.live())
    again.note_publisher("a", 2)
    log.jobs[0]()
    again.note_publisher("c", 1)
    assert [again.publisher_id(name) for name in ("a", "b", "c")] == [2, None, 1]


def test_a_value_that_is_noted_before_the_old_one_is_read_back_is_newer(make_stream, log, tracking):
    tracking.note_publisher("a", 5)
    again = restored(make_stream, 1)
    log.gathers = 2
    again.note_publisher("a", 6)
    log.jobs[0]()
    assert (again.publisher_id("a"), log.live()) == (6, [2])


def test_a_mark_that_follows_before_the_old_one_is_read_back_settles_it_once(make_stream, log, tracking):
    def marked(of, seq):
        builder = BatchBuilder()
        of.mark(builder, 10 * seq, seq)
        log.runs[seq] = builder.appends[0][0]
        return [list(pairs) for pairs in builder.settles.values()]

    tracking.note_publisher("a", 5)
    assert marked(tracking, 7) == []
    values, of_mark = SeqRanges(), SeqRanges()
    values.add(1, 1, 8)
    of_mark.add(7, 1, 8)
    again = make_stream().tracking
    again.restore([(MARK_PRIORITY, False, of_mark), (0, False, values)], 0)
    assert marked(again, 8) == [[7, 7]]
    assert marked(again, 9) == [[8, 8]]
    log.jobs[0]()
    assert (log.settled, again.publisher_id("a")) == ([], 5)
    assert marked(again, 10) == [[9, 9]]


def test_a_mark_that_cannot_be_read_back_stays_until_the_next_one(make_stream, log):
    of_mark = SeqRanges()
    of_mark.add(1, 1, 8)
    again = make_stream().tracking
    again.restore([(MARK_PRIORITY, False, of_mark)], 0)
    log.jobs[0]()
    assert log.settled == []
    builder = BatchBuilder()
    again.mark(builder, 10, 2)
    assert [list(pairs) for pairs in builder.settles.values()] == [[1, 1]]


def test_a_stream_that_is_deleted_meanwhile_wants_nothing(make_stream, log, tracking):
    tracking.note_publisher("a", 5)
    stream = make_stream()
    found = SeqRanges()
    found.add(1, 1, 8)
    stream.tracking.restore([(0, False, found)], 0)
    stream.deleted = True
    log.jobs[0]()
    assert stream.tracking.publisher_id("a") is None
    stream.tracking.forget()
    assert log.settled == [stream.tracking.id]


def test_the_longest_unused_publisher_goes_and_never_a_connected_one(log, tracking, monkeypatch):
    monkeypatch.setattr(module, "PUBLISHERS_MAX", 3)
    tracking.hold("a")
    tracking.hold("a")
    for name in "abc":
        tracking.note_publisher(name, 1)
    tracking.note_publisher("b", 2)
    tracking.note_publisher("d", 1)
    assert (known(tracking, "abcd"), log.live()) == ("abd", [1, 2, 4])
    tracking.release("a")
    tracking.note_publisher("e", 1)
    assert known(tracking, "abde") == "ade"
    tracking.release("a")
    tracking.note_publisher("f", 1)
    assert known(tracking, "adef") == "aef"
    for name in "ghi":
        tracking.note_publisher(name, 1)
    assert known(tracking, "aefghi") == "ghi"


def test_if_all_are_connected_there_are_more(tracking, monkeypatch):
    monkeypatch.setattr(module, "PUBLISHERS_MAX", 1)
    for name in "ab":
        tracking.hold(name)
        tracking.note_publisher(name, 1)
    assert known(tracking, "ab") == "ab"


def test_consumers_whose_messages_are_gone_are_forgotten_first(stream, tracking, monkeypatch):
    def stored(names):
        return "".join([name for name in names if tracking.offset(name) is not None])

    monkeypatch.setattr(module, "CONSUMERS_MAX", 3)
    stream.next_offset = stream.end_offset = 10
    for name, offset in (("a", 9), ("b", 2), ("c", 9)):
        tracking.store_offset(name, offset)
    stream.files.next_offset = stream.files.first_offset = 5
    tracking.store_offset("d", 9)
    assert stored("abcd") == "acd"
    tracking.store_offset("a", 9)
    tracking.store_offset("e", 9)
    assert stored("acde") == "ade"
    tracking.store_offset("f", 9)
    assert stored("adef") == "aef"


def test_without_a_disk_it_is_known_at_once(stream):
    for number in (1, 2):
        stream.tracking.note_publisher("a", number)
    assert stream.tracking.publisher_id("a") == 2


def test_operators_are_told_what_is_lost(stream):
    assert repr(stream.tracking) == "the tracking of stream 's' in vhost '/'"


def test_messages_whose_id_cannot_be_noted_are_not_committed(log, tracking, monkeypatch):
    failed = []
    monkeypatch.setattr(log, "fail", failed.append)
    monkeypatch.setattr(log, "append", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        tracking.note_publisher("a", 1)
    assert [type(error) for error in failed] == [ZeroDivisionError]
