"""Messages whose contents are on disk only: they may be dropped unseen, or be lost there."""

import pytest

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.channel.state import ChannelState
from pybroker.core.exchange.trace import Party
from pybroker.core.message_trace.watch import Watch
from pybroker.core.routing.publish import enqueue
from tests.core.disk_log import PERSISTENT, DiskBench, evicted_seqs, shrink
from tests.core.message_trace.conftest import names
from tests.core.queue.retry.test_delayed import advance, take
from tests.readers import run_of


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


class Traced(DiskBench):
    """A bench whose messages are all followed, the first one as number 1."""

    def __init__(self, **arguments) -> None:
        super().__init__(**arguments)
        self.trace = self.broker.traces.follow(self.vhost, 1_000, 60_000, "q")

    def publish(self, *bodies, attributes=PERSISTENT, receipt=NO_RECEIPT):
        run = run_of(bodies, self.log.take(len(bodies)), attributes, self.now_ms)
        followed = [(self.trace.found("q", run, run.content(index), 0), index) for index in range(run.count)]
        watched = [Watch(self.trace, followed, [self.queue]), self.queue]
        enqueue(self.log, run, range(run.count), watched, receipt)
        return run


def events(bench: Traced, name: str) -> list[int]:
    """Return the numbers of messages to which this happened."""
    return [event["message"] for event in bench.trace.poll(100_000) if event["event"] == name]


def test_heads_that_are_dropped_unseen_are_told():
    bench = Traced(x_max_length=12)
    for _ in range(10):
        bench.fill(4)
    assert bench.log.asked == 0
    assert events(bench, "maxlen") == list(range(1, 29))


def test_messages_that_cannot_be_read_are_told():
    bench = Traced()
    bench.fill(20)
    lost = evicted_seqs(bench)[2:11:2]
    bench.log.unreadable = set(lost)
    bench.reader(no_ack=True)
    bench.settle_down()
    assert events(bench, "unreadable") == lost


def test_messages_that_cannot_be_read_for_their_retry_are_told(monkeypatch):
    monkeypatch.setattr("pybroker.core.queue.retry.window.KEPT_MESSAGES", 2)
    monkeypatch.setattr("pybroker.core.queue.retry.window.SOON_MS", 0)
    monkeypatch.setattr(ChannelState, "party", Party("c", 1, "guest"))
    bench = Traced(x_delayed_retry_type="all", x_delayed_retry_min=60_000, x_delayed_retry_max=60_000)
    for _ in range(9):
        bench.fill(1)
        take(bench, 1)
    bench.log.unreadable = {1}
    advance(bench, 60_000)
    assert events(bench, "unreadable") == [1]


def test_messages_that_are_evicted_are_purged_as_well():
    bench = Traced()
    bench.fill(20)
    assert bench.queue.purge() == 20
    assert events(bench, "purged") == list(range(1, 21))


def test_each_is_stored_once_the_log_says_so():
    bench = Traced()
    bench.publish(b"x")
    assert "stored" not in names(bench.trace)
    bench.log.complete(bench.broker)
    assert names(bench.trace) == ["stored"]
