"""Contents of delayed messages leave memory when the log has them, and the window bounds what comes back."""

from pybroker.core.queue.retry import window
from tests.core.disk_log import DiskBench
from tests.core.queue.retry.test_delayed import RETRY, advance, take


def bench_of(count, monkeypatch):
    monkeypatch.setattr(window, "KEPT_MESSAGES", 2)
    monkeypatch.setattr(window, "FETCH_MESSAGES", 3)
    bench = DiskBench(**RETRY | {"x_delayed_retry_min": 60_000, "x_delayed_retry_max": 60_000})
    for _ in range(count):
        bench.fill(1)
        take(bench, 1)
    return bench


def test_contents_that_the_log_has_not_stay(monkeypatch):
    monkeypatch.setattr(window, "KEPT_MESSAGES", 2)
    bench = DiskBench(**RETRY | {"x_delayed_retry_min": 60_000, "x_delayed_retry_max": 60_000})
    bench.fill(9)
    bench.log.safe_seq = 5
    take(bench, 9)
    assert [5, 6, 7, 8, 9] == sorted(bench.queue.delayed.window.resident)


def test_a_window_comes_back_before_it_is_due(monkeypatch):
    bench = bench_of(9, monkeypatch)
    found = bench.queue.delayed.window
    assert 2 == len(found.resident)
    advance(bench, 57_000)
    assert 2 == len(found.resident)
    bench.broker.clock.now_ms += 1_500
    bench.broker.timers.run(bench.now_ms)
    assert (1, 3) == (len(bench.log.fetches), len(bench.log.fetches[0][0]))
    bench.settle_down()
    assert 5 == len(found.resident)


def test_an_answer_that_comes_after_a_purge_is_too_late(monkeypatch):
    bench = bench_of(9, monkeypatch)
    bench.broker.clock.now_ms += 60_000
    bench.broker.timers.run(bench.now_ms)
    assert bench.log.fetches
    bench.queue.purge()
    bench.settle_down()
    assert ({}, 0, False) == (
        bench.queue.delayed.window.resident,
        bench.queue.messages,
        bench.queue.delayed.window.fetching,
    )


def test_rows_that_have_left_are_not_remembered(monkeypatch):
    monkeypatch.setattr(window, "KEPT_MESSAGES", 2)
    bench = DiskBench(**RETRY)
    bench.fill(1)
    for _ in range(50):
        take(bench, 1)
        advance(bench, 1_000)
    assert len(bench.queue.delayed.window._logged) < 10
