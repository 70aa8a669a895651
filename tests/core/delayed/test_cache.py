from pybroker.core.delayed import cache as delayed_cache
from pybroker.core.routing.publish import names_of
from pybroker.run import Run, RunAttributes
from tests.core.disk_log import DiskLog
from tests.topology import exchange, new_vhost, wired


def made():
    vhost = new_vhost()
    vhost.broker.log = log = DiskLog()
    return log, exchange(vhost, "x", "x-delayed-message", wired(x_delayed_type="fanout")).schedule


def put(schedule, *delays, size=1):
    """Put messages of one run into the schedule and the log."""
    broker = schedule.vhost.broker
    now_ms = broker.clock.now_ms
    seq = broker.log.take(len(delays))
    content = b"\2\0\1\0\0\0\x0e\0\0\0\0" + size.to_bytes(8) + b"\0\0\xce"
    contents = [content] * len(delays)
    run = Run(names_of("x", "k"), RunAttributes(persistent=True), seq, contents, 0, size * len(delays), size, now_ms)
    broker.log.append(run, range(run.count), (schedule.id,))
    for index, delay in enumerate(delays):
        schedule.delays.add(now_ms + delay, seq + index, size)
        schedule.cache.put(run, index, size, now_ms + delay, logged=True)
    return run


def test_only_what_the_log_has_goes_the_oldest_first_and_nothing_that_is_due_soon(monkeypatch):
    monkeypatch.setattr(delayed_cache, "KEPT_MESSAGES", 2)
    log, schedule = made()
    cache = schedule.cache
    run = put(schedule, 10_000, 10_000, delayed_cache.SOON_MS, 10_000, 10_000, 10_000)
    log.safe_seq = run.first_seq + 1
    cache.let_go()
    assert [run.first_seq + index for index in range(1, 6)] == list(cache.runs)
    log.safe_seq = run.first_seq + 100
    cache.let_go()
    assert ([run.first_seq + 2, run.first_seq + 5], 2) == (list(cache.runs), cache.octets)
    assert not cache.crowded
    assert run.first_seq + 2 in cache
    assert (run, run.content(2)) == cache.get(run.first_seq + 2) == cache.pop(run.first_seq + 2, 1)
    assert cache.pop(run.first_seq + 2, 1) is cache.get(run.first_seq + 2) is None
    assert 1 == cache.octets


def test_a_large_one_goes_although_it_is_due_soon(monkeypatch):
    monkeypatch.setattr(delayed_cache, "KEPT_MESSAGES", 0)
    log, schedule = made()
    put(schedule, 100, size=delayed_cache.SMALL_OCTETS + 1)
    log.safe_seq = log.next_seq
    schedule.cache.let_go()
    assert 0 == len(schedule.cache)


def test_windows_are_read_in_the_order_in_which_they_are_due_a_share_at_a_time(monkeypatch):
    monkeypatch.setattr(delayed_cache, "KEPT_MESSAGES", 0)
    monkeypatch.setattr(delayed_cache, "FETCH_MESSAGES", 4)
    monkeypatch.setattr(delayed_cache, "SHARE_MESSAGES", 2)
    log, schedule = made()
    cache, clock = schedule.cache, schedule.vhost.broker.clock
    run = put(schedule, *(20_000 - 100 * number for number in range(10)))
    log.safe_seq = log.next_seq
    cache.let_go()
    assert not cache.read_ahead(urgent=False)
    assert clock.now_ms + 19_100 - delayed_cache.AHEAD_MS == cache.read_at_ms
    clock.advance(17_100)
    assert cache.read_ahead(urgent=False)
    assert not cache.read_ahead(urgent=False)
    assert cache.fetching
    assert log.answer()
    assert cache.read_ahead(urgent=False)
    assert cache.fetching
    while cache.read_ahead(urgent=False):
        pass
    assert {run.first_seq + index for index in (9, 8, 7, 6)} == set(cache.fetched)
    assert (True, False, 4) == (cache.full, cache.fetching, cache.fetched_octets)
    assert not cache.read_ahead(urgent=False)
    for index in (9, 8, 7):
        kind, content = cache.pop(run.first_seq + index, 1)
        assert (run.names, run.content(index)) == (kind.names, content)
    assert not cache.full


def test_what_is_due_and_not_here_is_read_however_much_is(monkeypatch):
    monkeypatch.setattr(delayed_cache, "KEPT_MESSAGES", 0)
    monkeypatch.setattr(delayed_cache, "FETCH_MESSAGES", 2)
    log, schedule = made()
    put(schedule, 10_000, 10_000, 10_000)
    log.safe_seq = log.next_seq
    schedule.cache.let_go()
    schedule.vhost.broker.clock.advance(10_000)
    for urgent in (False, True):
        assert not schedule.cache.read_ahead(urgent=urgent)
        assert log.answer()
        while schedule.cache.read_ahead(urgent=False):
            pass
        assert not log.fetches
    assert 3 == len(schedule.cache)


def test_what_is_let_go_while_others_are_gathered_is_looked_for_in_time(monkeypatch):
    monkeypatch.setattr(delayed_cache, "KEPT_MESSAGES", 0)
    log, schedule = made()
    put(schedule, 90_000)
    log.safe_seq = log.next_seq
    schedule.cache.let_go()
    assert not schedule.cache.read_ahead(urgent=False)
    put(schedule, 10_000)
    log.safe_seq = log.next_seq
    schedule.cache.let_go()
    assert schedule.vhost.broker.clock.now_ms + 10_000 - delayed_cache.AHEAD_MS == schedule.cache.read_at_ms


def test_what_has_left_is_forgotten_though_there_never_was_much(monkeypatch):
    monkeypatch.setattr(delayed_cache, "KEPT_MESSAGES", 8)
    log, schedule = made()
    cache = schedule.cache
    stays = put(schedule, 3_600_000)
    for _ in range(20):
        run = put(schedule, 5_000, 5_000, 5_000)
        for seq in range(run.first_seq, run.first_seq + 3):
            cache.pop(seq, 1)
        log.safe_seq = log.next_seq
        cache.let_go()
    assert [stays.first_seq] == list(cache.runs)
    assert len(cache._logged) <= 2 * (1 + 8)
