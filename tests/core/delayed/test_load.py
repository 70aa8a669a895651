from pybroker.core.delayed import load as delayed_load
from pybroker.core.delayed.load import portions
from pybroker.core.routing.publish import names_of
from pybroker.run import Run, RunAttributes
from pybroker.seq_ranges import SeqRanges
from pybroker.wire.properties import Properties, encode_properties
from tests.core.disk_log import DiskLog
from tests.topology import exchange, new_vhost, wired


def content_of(delay):
    octets = encode_properties(Properties(headers=wired(x_delay=delay)))
    return b"\2\0\1" + (12 + len(octets)).to_bytes(4) + bytes(4) + (1).to_bytes(8) + octets + b"\xce"


def found(*delays):
    """Return a schedule whose messages a start found in the log, its log and its turn."""
    vhost = new_vhost()
    broker = vhost.broker
    broker.log = log = DiskLog()
    schedule = exchange(vhost, "x", "x-delayed-message", wired(x_delayed_type="fanout")).schedule
    contents = [content_of(delay) for delay in delays]
    run = Run(names_of("x", "k"), RunAttributes(persistent=True), log.take(len(delays)), contents, 0, 0, 1, 0)
    log.append(run, range(len(delays)), (schedule.id,))
    log.safe_seq = log.next_seq
    seq_ranges = SeqRanges()
    seq_ranges.add(1, len(delays), 1)
    schedule.restore([(0, False, seq_ranges)], 1)
    return schedule, log


def test_a_portion_is_on_its_way_while_another_is_looked_at_a_share_at_a_time(monkeypatch):
    monkeypatch.setattr(delayed_load, "READ_MESSAGES", 4)
    monkeypatch.setattr(delayed_load, "SHARE_MESSAGES", 3)
    schedule, log = found(*range(10, 20))
    pump = schedule.vhost.broker.pump
    assert (8, 2, 10) == (log.asked, len(log.fetches), schedule.messages)
    left = []
    while schedule.reading:
        assert log.answer() or schedule.awake
        pump()
        left.append(10 - len(schedule.delays))
        assert 10 == schedule.messages
    assert sorted(left, reverse=True) == left
    assert {7, 4, 1} <= set(left)
    assert (0, 10) == (schedule.unreadable, log.asked)
    assert list(range(1, 11)) == [item.seq for item in schedule.delays.first(20)]


def test_what_cannot_be_read_is_counted():
    schedule, log = found(5, 6, 7)
    log.unreadable.add(2)
    log.answer()
    schedule.vhost.broker.pump()
    assert (False, 1, 2) == (schedule.reading, schedule.unreadable, schedule.messages)


def test_a_schedule_that_is_deleted_meanwhile_reads_no_more():
    schedule, log = found(5, 6, 7)
    schedule.discard()
    log.answer()
    schedule.vhost.broker.pump()
    assert (0, 0) == (schedule.messages, len(schedule.delays))


def test_portions_are_limited_by_messages_and_octets(monkeypatch):
    monkeypatch.setattr(delayed_load, "READ_MESSAGES", 4)
    monkeypatch.setattr(delayed_load, "READ_OCTETS", 100)
    seq_ranges = SeqRanges()
    seq_ranges.add(1, 6, 10)
    seq_ranges.add(10, 2, 400)
    seq_ranges.add(20, 3, 0)
    parts = [list(part.ranges()) for part in portions(seq_ranges)]
    assert [[(1, 4, 10)], [(5, 2, 10)], [(10, 1, 400)], [(11, 1, 400), (20, 3, 0)]] == parts
