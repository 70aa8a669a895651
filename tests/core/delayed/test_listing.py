from pybroker.core.delayed import listing
from pybroker.core.delayed.index import Waiting
from pybroker.core.delayed.listing import seq_ranges_of, walk
from pybroker.core.routing.publish import names_of
from pybroker.run import Run, RunAttributes
from pybroker.wire.properties import Properties, encode_properties
from tests.core.disk_log import DiskLog
from tests.topology import exchange, new_vhost, wired


def made(*delays, times=()):
    """Return a schedule with messages in the log alone, of which the routing key is the number."""
    vhost = new_vhost()
    broker = vhost.broker
    broker.log = log = DiskLog()
    schedule = exchange(vhost, "x", "x-delayed-message", wired(x_delayed_type="fanout")).schedule
    octets = encode_properties(Properties(message_id="m", headers=wired(a=1)))
    content = b"\2\0\1" + (12 + len(octets)).to_bytes(4) + bytes(12) + octets + b"\xce"
    for number, due in enumerate((*delays, *times)):
        names = names_of("x", str(number))
        run = Run(
            names, RunAttributes(persistent=True), log.take(1), [content], len(content), 0, 0, broker.clock.now_ms
        )
        log.append(run, range(1), (schedule.id,))
        if number < len(delays):
            schedule.delays.add(broker.clock.now_ms + due, run.first_seq, 0)
        else:
            schedule.times.add(broker.clock.timestamp_ms + due, run.first_seq, 0)
    log.safe_seq = log.next_seq
    return log, schedule


def keys(schedule, pause):
    return [each.routing_key for each in walk(schedule, pause, contents=True)]


def test_delays_and_times_are_listed_in_one_order_and_read_from_disk(monkeypatch):
    monkeypatch.setattr(listing, "SLICE_MESSAGES", 2)
    log, schedule = made(500, 100, 300, times=(200, 400))
    assert ["1", "3", "2", "4", "0"] == keys(schedule, lambda _: log.answer())
    assert 5 == log.asked
    assert 0 == len(schedule.cache)


def test_without_contents_nothing_is_read():
    log, schedule = made(500, 100)
    found = list(walk(schedule, lambda _: None, contents=False))
    assert ([2, 1], 0) == ([each.waiting.seq for each in found], log.asked)
    assert all(
        (each.routing_key, each.message_id, each.headers, each.published_at) == ("", "", {}, "") for each in found
    )
    assert not any(each.persistent for each in found)


def test_what_is_due_when_is_told_by_the_clock_on_the_wall():
    log, schedule = made(5_000, times=(7_000,))
    now = schedule.vhost.broker.clock.timestamp_ms
    first, second = walk(schedule, lambda _: log.answer(), contents=True)
    assert (now + 5_000, now + 7_000) == (first.deliver_at_ms, second.deliver_at_ms)
    assert (5_000, "m", {"a": 1}, True) == (first.left_ms, first.message_id, first.headers, first.persistent)
    schedule.vhost.broker.clock.advance(6_000)
    assert (0, 1_000) == (first.left_ms, second.left_ms)


def test_what_cannot_be_read_is_listed_without_its_contents():
    log, schedule = made(1, 2)
    log.unreadable.add(1)
    assert ["", "1"] == keys(schedule, lambda _: log.answer())


def test_what_has_left_meanwhile_is_not_read():
    log, schedule = made(1, 2)
    listed = walk(schedule, lambda _: log.answer(), contents=True)
    (first, _) = schedule.delays.first(2)
    in_order = list(listing.in_order(schedule))
    schedule.cancel(Waiting(*first, schedule.delays))
    assert ["1"] == [each.routing_key for each in listed]
    assert [1, 2] == [each.seq for each in in_order]


def test_seq_ranges_have_their_messages_in_order():
    assert [(1, 1, 4), (5, 1, 1), (6, 1, 2)] == list(seq_ranges_of({5: 1, 1: 4, 6: 2}).ranges())
