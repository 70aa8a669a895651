"""A drain whose broker goes and comes back."""

import time
from types import SimpleNamespace

import pytest

pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")

from pybroker.client import Properties, connect, parse_uri
from pybroker.spark.options import SourceOptions
from pybroker.spark.readers import drain as module
from pybroker.spark.readers.drain import Drain
from pybroker.spark.readers.spool import Spool, read_segment
from tests.interop.broker_process import BrokerProcess
from tests.ports import free_port


@pytest.fixture
def own(tmp_path):
    """Return a function that starts a broker always in the same place."""
    port, started = free_port(), []

    def start():
        started.append(BrokerProcess(tmp_path / "broker", options=("--port", str(port))))
        return started[-1]

    yield start
    for broker in started:
        broker.stop()


@pytest.fixture
def make_drain(spool):
    made = []

    def make(broker, **options):
        client = parse_uri(f"amqp://{broker.host}:{broker.port}")
        folder = Spool(str(spool), {"queue": "q"})
        folder.open(0.0)
        made.append((Drain(SourceOptions(client=client, queue="q", max_wait_s=0.2, **options), folder), folder))
        return made[-1]

    yield make
    for drain, folder in made:
        drain.close()
        folder.close()


def fill(broker, count):
    with connect(f"amqp://{broker.host}:{broker.port}") as connection:
        channel = connection.channel()
        channel.confirm_select()
        channel.queue_declare("q", durable=True)
        for number in range(count):
            channel.basic_publish("", "q", b"%d" % number, Properties(delivery_mode=2))
        channel.wait_for_confirms()


def test_a_drain_outlives_its_broker(own, make_drain, monkeypatch):
    broker = own()
    if not broker.is_ours:
        pytest.skip("a broker that was given is not to be killed")
    fill(broker, 100)
    monkeypatch.setattr(module, "SEGMENT_ROWS", 10)
    monkeypatch.setattr(module, "_RETRY_S", 0.1)
    drain, spool = make_drain(broker)
    write = spool.write

    def kill_in_the_third(number, batches):
        rows = write(number, batches)
        if number == 3:  # in the spool, not acknowledged yet
            broker.process.kill()
            broker.process.wait()
            own()
        return rows

    monkeypatch.setattr(spool, "write", kill_in_the_third)
    taken = drain.run(1, None, 0.0)
    drain.run(spool.numbers()[-1] + 1, None, 0.0)
    rows = [
        (int(value), flag)
        for number in spool.numbers()
        for batch in read_segment(str(spool.path(number)))
        for value, flag in zip(*(batch.column(n).to_pylist() for n in ("value", "redelivered")), strict=True)
    ]
    assert taken >= 100
    assert {value for value, _ in rows} == set(range(100))
    seen = set()
    again = [(value, flag) for value, flag in rows if value in seen or seen.add(value)]
    # The third segment's were never acknowledged; what became of the acks before them only the broker's disk knows.
    assert {value for value, _ in again} >= set(range(20, 30))
    assert {value for value, _ in again} <= set(range(30))
    assert {flag for _, flag in again} == {True}
    assert len({(value, flag) for value, flag in rows if value in range(20, 30)}) == 20


def test_a_first_connection_that_fails_is_told_at_once(make_drain, broker):
    drain, _ = make_drain(broker)
    drain._options = SourceOptions(client=parse_uri("amqp://127.0.0.1:1"), queue="q")
    with pytest.raises(OSError, match="refused"):
        drain.run(1, None, 0.0)


def test_a_drain_run_again_waits_for_the_broker_as_long_as_it_is_told(own, make_drain, monkeypatch):
    broker = own()
    if not broker.is_ours:
        pytest.skip("a broker that was given is not to be killed")
    fill(broker, 3)
    drain, spool = make_drain(broker)
    assert drain.run(1, 1, 0.0) == 1
    drain.close()
    spool.close()
    broker.process.kill()
    broker.process.wait()
    pauses = []

    def pause(_):
        pauses.append(own())  # it is back before the second attempt

    # The module's own clock: a thread of Spark's, if one is left from another test, sleeps by the real one.
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=pause, monotonic=time.monotonic))
    again, _ = make_drain(broker)
    assert again.run(2, None, 0.0) in (2, 3)  # the ack of the first may not have been on disk
    assert len(pauses) == 1


def test_a_broker_that_stays_away_is_given_up(own, make_drain, monkeypatch):
    broker = own()
    if not broker.is_ours:
        pytest.skip("a broker that was given is not to be killed")
    fill(broker, 1)
    monkeypatch.setattr(module, "_RETRY_S", 0.05)
    drain, spool = make_drain(broker, reconnect_timeout_s=0.2)
    assert (drain.run(1, None, 0.0), drain.messages_ready) == (1, 0)
    broker.process.kill()
    broker.process.wait()
    with pytest.raises(Exception, match=r"ended|refused|reset"):
        drain.run(2, None, 0.0)
    assert spool.numbers() == [1]
