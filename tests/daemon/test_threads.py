"""Jobs run in one thread, in order; what they return is handled on the hub."""

import os
import threading

import gevent
import pytest
from gevent.event import Event

from pybroker.clock import Clock
from pybroker.core.broker import Broker
from pybroker.core.settings import Settings
from pybroker.daemon import threads
from pybroker.daemon.threads import NICE, REST_S, TURN_NS, ThreadWorker, in_short_turns
from pybroker.net.loop_cycle import LoopCycle


@pytest.fixture
def turn():
    clock = Clock()
    clock.refresh()
    turn = LoopCycle(clock)
    turn.broker = Broker(Settings(), clock, turn)
    return turn


@pytest.fixture
def worker(turn):
    return ThreadWorker("test", turn)


def test_jobs_run_elsewhere_and_their_results_come_back_in_order(turn, worker):
    seen, ended = [], Event()
    here = threading.get_ident()
    worker.submit(threading.get_ident, lambda ident: seen.append(ident != here))
    worker.submit(lambda: 1 // 0, lambda error: seen.append(type(error)))
    worker.submit(lambda: 3, lambda _: (seen.append(threading.get_ident() == here), 1 // 0))
    worker.submit(lambda: 4, lambda result: (seen.append(result), ended.set()))
    with gevent.Timeout(60):
        ended.wait()
    assert [True, ZeroDivisionError, True, 4] == seen
    assert 0 == turn.busy_poll.working
    worker.stop()


def test_a_thread_that_steps_back_does_so_alone(worker):
    here = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    seen, ended = [], Event()
    worker.step_back()
    worker.submit(
        lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id()),
        lambda nice: (seen.append(nice), ended.set()),
    )
    with gevent.Timeout(60):
        ended.wait()
    assert [max(NICE, here)] == seen
    assert here == os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    worker.stop()


def test_a_stop_at_once_waits_for_one_job_alone(worker):
    seen, began, may_end = [], threading.Event(), threading.Event()

    def job():
        began.set()
        may_end.wait(60)
        seen.append("begun")

    worker.submit(job, seen.append)
    for _ in range(3):
        worker.submit(lambda: seen.append("not begun"), seen.append)
    assert began.wait(60)
    threading.Timer(0.1, may_end.set).start()
    worker.stop(at_once=True)
    assert seen == ["begun"]


def test_a_thread_that_computes_rests_when_its_turn_is_over(monkeypatch):
    now_ns, rests = [0], []

    def rest(seconds):
        rests.append((now_ns[0], seconds))
        now_ns[0] += TURN_NS

    monkeypatch.setattr(threads, "perf_counter_ns", lambda: now_ns[0])
    monkeypatch.setattr(threads.time, "sleep", rest)
    seen = []
    for item in in_short_turns(range(6)):
        seen.append(item)
        now_ns[0] += TURN_NS // 2
    assert seen == [*range(6)]
    assert rests == [(TURN_NS, REST_S), (3 * TURN_NS, REST_S), (5 * TURN_NS, REST_S)]
