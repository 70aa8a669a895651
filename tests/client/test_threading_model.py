"""S4's guarantees as an application meets them, on a real broker: many channels, slow callbacks, a restart, an alarm.

Tests that restart the broker or raise an alarm need one of their own; they are skipped where INTEROP_BROKER names one.
"""

import os
import queue as queues
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import pytest

from pybroker.client import Address, Connection, Options, Properties
from pybroker.client.errors import ConnectionBlocked, ConnectionLost, PublishUnconfirmed
from pybroker.client.transport.stream import READ_OCTETS
from tests.client.scripted import WAIT_S, in_thread

needs_own_broker = pytest.mark.skipif("INTEROP_BROKER" in os.environ, reason="it restarts the broker or blocks it")
PERSISTENT = Properties(delivery_mode=2)


def test_g7_g28_eight_channels_with_slow_and_failing_callbacks(connect):
    """Each channel gets its messages in order and one at a time, whatever the others do."""
    failed = queues.Queue()
    connection = connect(workers=4, on_error=lambda channel, error, message: failed.put(channel.number))
    publisher = connect().channel()
    publisher.confirm_select()
    seen, inside, overlaps = defaultdict(list), defaultdict(int), []
    done = threading.Event()
    slow = threading.Event()

    def on_message(message):
        number = message.channel.number
        inside[number] += 1
        overlaps.append(inside[number])
        try:
            seen[number].append(int(message.body))
            if number == 1:
                slow.wait(0.002)
            if number == 2 and int(message.body) % 10 == 0:
                raise ValueError(message.body)
            message.ack()
        finally:
            inside[number] -= 1
            if sum(map(len, seen.values())) == 8 * 200:
                done.set()

    names = []
    for _ in range(8):
        channel = connection.channel()
        names.append(channel.queue_declare(auto_delete=True).queue)
        channel.basic_qos(50)
        channel.basic_consume("", on_message)
    for number in range(200):
        for name in names:
            publisher.basic_publish("", name, b"%d" % number)
    publisher.wait_for_confirms()
    assert done.wait(WAIT_S)
    assert dict(seen) == {number: list(range(200)) for number in range(1, 9)}
    assert set(overlaps) == {1}
    assert [failed.get(timeout=WAIT_S) for _ in range(20)] == [2] * 20
    assert all(channel.is_open for channel in connection._channels())


@pytest.mark.parametrize(("channels", "workers"), [(3, 8), (8, 3), (4, 4)])
def test_g24_parallelism_is_the_lower_of_channels_and_pool(connect, channels, workers):
    """Callbacks stay until as many run as may; then exactly the other threads of the pool are free, and stay so."""
    most = min(channels, workers)
    running, gate, done = threading.Semaphore(0), threading.Event(), threading.Semaphore(0)
    seen = defaultdict(list)
    limit = time.monotonic() + WAIT_S

    def on_message(message):
        running.release()
        assert gate.wait(WAIT_S)
        seen[message.channel.number].append(int(message.body))
        done.release()

    with ThreadPoolExecutor(workers) as executor, ExitStack() as at_last:
        connection = connect(executor=executor)
        at_last.callback(connection.close)
        at_last.callback(gate.set)
        opened = [connection.channel() for _ in range(channels)]
        names = [channel.queue_declare(exclusive=True).queue for channel in opened]
        for channel, name in zip(opened, names, strict=True):
            channel.basic_consume(name, on_message, no_ack=True)
        for number in range(5):
            for name in names:
                opened[0].basic_publish("", name, b"%d" % number)
        assert [running.acquire(timeout=WAIT_S) for _ in range(most)] == [True] * most
        while sum(len(channel._lane) for channel in opened) < 5 * channels - most:
            assert time.monotonic() < limit
            opened[0].queue_declare(names[0], passive=True)  # until all the others wait on this side
        free = threading.Barrier(workers - most + 1)
        others = [executor.submit(free.wait, WAIT_S) for _ in range(workers - most)]
        free.wait(WAIT_S)  # breaks if a callback too many has one of these threads
        assert [other.exception(WAIT_S) for other in others] == [None] * len(others)
        assert not running.acquire(blocking=False)
        gate.set()
        assert [done.acquire(timeout=WAIT_S) for _ in range(5 * channels)] == [True] * 5 * channels
    assert dict(seen) == {channel.number: list(range(5)) for channel in opened}


def test_g8_a_callback_may_call_the_broker_while_its_channel_is_full(connect):
    """Deliveries beyond `callbacks_max` stop the reader, but never for an answer that somebody waits for."""
    connection = connect(callbacks_max=10, workers=1)
    channel = connection.channel()
    name = channel.queue_declare(exclusive=True).queue
    channel.confirm_select()
    for _ in range(500):
        channel.basic_publish("", name, b"x" * 1_000)
    channel.wait_for_confirms()
    consumer = connection.channel()
    counts, done = [], threading.Event()

    def on_message(message):
        if len(counts) % 50 == 0:
            message.channel.queue_declare(name, passive=True)
            channel.publish_and_wait("", "nowhere", b"x")
        counts.append(1)
        if len(counts) == 500:
            done.set()

    consumer.basic_consume(name, on_message, no_ack=True)
    assert done.wait(WAIT_S)


def test_g7_deliveries_that_nobody_takes_stay_with_the_broker(connect):
    """Without a prefetch the reader stops at `callbacks_max`, give or take one read; nothing is lost by that."""
    connection = connect(callbacks_max=100)
    channel = connection.channel()
    name = channel.queue_declare(auto_delete=True).queue
    go, done, counts = threading.Event(), threading.Event(), []

    def on_message(message):
        go.wait(WAIT_S)
        counts.append(1)
        if len(counts) == 20_000:
            done.set()

    # First of all: while a call waits for its answer the reader goes on.
    channel.basic_consume(name, on_message, no_ack=True)
    publisher = connect().channel()
    publisher.confirm_select()
    for _ in range(20_000):
        publisher.basic_publish("", name, b"x" * 1_000)
    publisher.wait_for_confirms()
    while not connection._backpressure.paused:
        assert not done.wait(0.01)
    # The first one may have left it: it is being called.
    assert 99 <= len(channel._lane) < 100 + 2 * READ_OCTETS // 1_000
    go.set()
    assert done.wait(WAIT_S)


def test_g12_four_threads_publish_on_one_channel(connect):
    """Not advised, and still every message is whole and answered."""
    channel = connect().channel()
    name = channel.queue_declare(exclusive=True).queue
    channel.confirm_select()
    bodies = [bytes([letter]) * 200_000 for letter in b"abcd"]

    def publish(body):
        for _ in range(10):
            channel.publish_and_wait("", name, body)

    for future in [in_thread(publish, body) for body in bodies]:
        future.result(WAIT_S)
    got = [channel.basic_get(name, no_ack=True).body for _ in range(40)]
    assert sorted(got) == sorted(bodies * 10)


@needs_own_broker
def test_g4_a_restart_of_the_broker_loses_no_confirmed_message(own):
    """Durable queue, publisher with confirms, consumer, server-named queue: all come back by themselves."""
    broker = own()
    options = Options(addresses=(Address(broker.host, broker.port),), recovery_delay_s=0.1, rpc_timeout_s=WAIT_S)
    with Connection(options) as consuming, Connection(options) as publishing:
        channel = consuming.channel()
        channel.queue_declare("orders", durable=True)
        private = channel.queue_declare(exclusive=True).queue
        channel.queue_bind(private, "amq.topic", "news.#")
        channel.basic_qos(20)
        got, news, renamed = defaultdict(int), queues.Queue(), queues.Queue()
        consuming.on_queue_renamed(lambda old, new: renamed.put((old, new)))

        def on_order(message):
            got[int(message.body)] += 1
            message.ack()

        channel.basic_consume("orders", on_order)
        channel.basic_consume(private, news.put, no_ack=True)
        publisher = publishing.channel()
        publisher.confirm_select()
        taken, number = [], 0
        halfway = threading.Event()

        def publish():
            nonlocal number
            while number < 300:
                try:
                    publisher.publish_and_wait("", "orders", b"%d" % number, PERSISTENT)
                    taken.append(number)
                except (PublishUnconfirmed, ConnectionLost):
                    publishing.wait_until_open(WAIT_S)
                number += 1
                if number == 100:
                    halfway.set()

        publishing_thread = in_thread(publish)
        assert halfway.wait(WAIT_S)
        broker.stop()
        broker = own()
        publishing_thread.result(WAIT_S)
        consuming.wait_until_open(WAIT_S)
        old, new = renamed.get(timeout=WAIT_S)
        assert old == private != new
        publisher.publish_and_wait("amq.topic", "news.today", b"hello")
        assert news.get(timeout=WAIT_S).routing_key == "news.today"
        while channel.queue_declare("orders", passive=True).message_count:
            threading.Event().wait(0.01)
        assert channel._lane.wait_idle(WAIT_S)
        assert [each for each in taken if each not in got] == []
        assert len(taken) >= 298


@needs_own_broker
def test_e9_an_alarm_blocks_publishers_and_not_consumers(own):
    """The publisher's handler hears why, its publishes wait with a time-out, and go on afterwards."""
    broker = own()
    options = Options(addresses=(Address(broker.host, broker.port),), blocked_timeout_s=0.2)
    with Connection(options) as publishing, Connection(options) as consuming:
        told = queues.Queue()
        publishing.on_blocked(told.put)
        publishing.on_unblocked(lambda: told.put("unblocked"))
        channel, consumer = publishing.channel(), consuming.channel()
        name = consumer.queue_declare("q").queue
        channel.basic_publish("", name, b"before")
        assert channel.queue_declare(name, passive=True).queue == name
        broker.ctl("set_vm_memory_high_watermark", "0")
        # RabbitMQ blocks with the next publish, and so does pybroker; that one waits.
        channel.basic_publish("", name, b"during")
        assert told.get(timeout=WAIT_S) == "low on memory"
        with pytest.raises(ConnectionBlocked, match="low on memory"):
            channel.basic_publish("", name, b"refused")
        assert consumer.basic_get(name, no_ack=True).body == b"before"
        broker.ctl("set_vm_memory_high_watermark", "0.4")
        assert told.get(timeout=WAIT_S) == "unblocked"
        channel.basic_publish("", name, b"after")
        bodies = [channel.basic_get(name, no_ack=True).body for _ in range(2)]
        assert bodies == [b"during", b"after"]


class Scenario:
    """Eight channels and one publisher; every guarantee is looked at in each callback."""

    def __init__(self, consuming, publishing):
        self.publishing = publishing
        self.got = [Counter() for _ in range(8)]
        self.wrong = []
        self.confirmed = [set() for _ in range(8)]
        self.pause = threading.Event()
        self.channels = [consuming.channel() for _ in range(8)]
        self._inside = [threading.Lock() for _ in range(8)]
        self._last = [-1] * 8
        for index, channel in enumerate(self.channels):
            channel.queue_declare(f"q{index}", durable=True)
            channel.basic_qos(20)
            channel.basic_consume(f"q{index}", partial(self.take, index))

    def take(self, index, message):
        """Be slow on the first channel, fail on the second; messages overtake nobody, and callbacks do not overlap."""
        number = int(message.body)
        if not self._inside[index].acquire(blocking=False):
            self.wrong.append(f"two callbacks of channel {index} at a time")
            return
        try:
            if "reader" in threading.current_thread().name:
                self.wrong.append("the reader runs callbacks")
            if not message.redelivered:
                if number <= self._last[index]:
                    self.wrong.append(f"{number} came behind {self._last[index]}, or again without the flag")
                self._last[index] = number
            if index == 0:
                self.pause.wait(0.005)
            if index == 1 and number % 10 == 0 and not message.redelivered:
                message.nack()
                raise ValueError(number)
            self.got[index][number] += 1
            message.ack()
        finally:
            self._inside[index].release()

    def publish(self, numbers):
        """Publish, and note what was confirmed; what was not, when the connection was lost, stays unknown."""
        channel = self.publisher
        for number in numbers:
            confirmations = []
            try:
                for index in range(8):
                    confirmations.append(channel.publish_future("", f"q{index}", b"%d" % number, PERSISTENT))
            except ConnectionLost:
                self.publishing.wait_until_open(WAIT_S)
            for index, confirmation in enumerate(confirmations):
                if confirmation.exception(WAIT_S) is None:
                    self.confirmed[index].add(number)

    def start(self):
        self.publisher = self.publishing.channel()
        self.publisher.confirm_select()

    def missing(self):
        return [sorted(taken - set(got)) for taken, got in zip(self.confirmed, self.got, strict=True)]

    def settle(self):
        """Wait until everything confirmed was seen."""
        limit = time.monotonic() + WAIT_S
        while any(self.missing()) and time.monotonic() < limit:
            self.pause.wait(0.01)
        assert self.missing() == [[]] * 8


@needs_own_broker
def test_s4_eight_channels_with_slow_and_failing_callbacks_an_alarm_and_a_restart(own):
    """G4, G5, G7, G28, E9 at once: alarms stop publishes only, the broker is killed in one, nothing is lost."""
    broker = own()
    options = Options(addresses=(Address(broker.host, broker.port),), recovery_delay_s=0.1, workers=4)
    failed = queues.Queue()
    with (
        Connection(options, on_error=lambda channel, error, message: failed.put((channel.number, error))) as consuming,
        Connection(options) as publishing,
    ):
        scenario = Scenario(consuming, publishing)
        scenario.start()
        told = queues.Queue()
        publishing.on_blocked(told.put)
        publishing.on_unblocked(lambda: told.put("unblocked"))
        publishing.on_recovered(lambda: told.put("recovered"))

        scenario.publish(range(100))
        broker.ctl("set_vm_memory_high_watermark", "0")
        blocked = in_thread(scenario.publish, range(100, 200))
        assert told.get(timeout=WAIT_S) == "low on memory"
        scenario.settle()  # consumers go on meanwhile
        assert not blocked.done()
        broker.ctl("set_vm_memory_high_watermark", "0.4")
        assert told.get(timeout=WAIT_S) == "unblocked"
        blocked.result(WAIT_S)
        assert len(scenario.confirmed[0]) == 200

        broker.ctl("set_vm_memory_high_watermark", "0")
        blocked = in_thread(scenario.publish, range(200, 300))
        assert told.get(timeout=WAIT_S) == "low on memory"
        broker.process.kill()
        broker.process.wait()
        own()
        assert sorted(told.get(timeout=WAIT_S) for _ in range(2)) == ["recovered", "unblocked"]
        blocked.result(WAIT_S)
        consuming.wait_until_open(WAIT_S)
        scenario.settle()
        assert scenario.wrong == []
        assert min(map(len, scenario.confirmed)) >= 298
        assert failed.qsize() >= 29
        found = [failed.get_nowait() for _ in range(failed.qsize())]
        # A callback of any channel may want to acknowledge just when the connection is lost.
        raised = {number for number, error in found if not isinstance(error, ConnectionLost)}
        assert raised == {scenario.channels[1].number}
        assert all(channel.is_open for channel in scenario.channels)
