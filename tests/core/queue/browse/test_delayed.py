"""Delayed messages are shown as they are due, wherever their contents are."""

from pybroker.core.queue.browse import delayed, window
from pybroker.core.queue.browse.browsed import DELAYED
from pybroker.core.queue.retry import window as retry_window
from tests.core.disk_log import DiskBench, shrink
from tests.core.queue.retry.test_delayed import RETRY, take

LONG = RETRY | {"x_delayed_retry_min": 60_000, "x_delayed_retry_max": 60_000}


def shown(bench):
    found = delayed.browse_delayed(bench.queue, lambda _: bench.settle_down())
    return [(message.seq, message.state, message.due_ms - bench.now_ms) for message in found if message is not None]


def test_they_come_as_they_are_due_also_from_disk(monkeypatch):
    shrink(monkeypatch)
    monkeypatch.setattr(window, "WINDOW_MESSAGES", 4)
    monkeypatch.setattr(retry_window, "KEPT_MESSAGES", 2)
    bench = DiskBench(**LONG)
    bench.fill(20)
    assert [1, 2, 3] == take(bench, 3)
    bench.broker.clock.advance(10)
    rest = take(bench, 12)
    resident, asked = bench.queue.delayed.window.messages, bench.log.asked
    assert resident < 15
    assert [(seq, DELAYED, 59_990) for seq in (1, 2, 3)] + [(seq, DELAYED, 60_000) for seq in rest] == shown(bench)
    assert asked < bench.log.asked
    assert (resident, 15) == (bench.queue.delayed.window.messages, bench.queue.messages_delayed)


def test_messages_that_return_meanwhile_are_not_shown_twice(monkeypatch):
    monkeypatch.setattr(window, "WINDOW_MESSAGES", 2)
    monkeypatch.setattr(delayed, "ROWS", 1)
    bench = DiskBench(**LONG)
    for _ in range(3):
        bench.fill(1)
        take(bench, 1)
        bench.broker.clock.advance(10)
    found = delayed.browse_delayed(bench.queue, lambda _: None)
    assert 1 == next(found).seq
    bench.broker.clock.advance(60_000)
    bench.broker.timers.run(bench.now_ms)
    bench.settle_down()
    assert [None] == list(found)


def test_a_queue_without_any_has_none_to_show():
    assert [] == shown(DiskBench())


def test_a_peek_shows_when_they_are_due():
    bench = DiskBench(**LONG)
    bench.fill(2)
    take(bench, 1)
    (one,) = [one for batch in bench.queue.peek(None, lambda _: None, states=(DELAYED,)) for one in batch]
    assert (one["seq"], one["state"], one["deliveries"]) == (1, "delayed", 1)
    assert one["due_at"] > one["arrived_at"]
