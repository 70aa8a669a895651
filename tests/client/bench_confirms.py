"""Publishes with confirms a second, ours and pika's against the same broker in one run, interleaved; ratios of medians.

    python -m tests.client.bench_confirms [amqp://...] [messages]     without a URI a daemon of our own is started

One by one: each publish waits for its answer. All at once: publish all, then wait once; pika's fastest way to do that
is its SelectConnection with a confirm callback.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import pika

from pybroker.client import connect
from tests.interop.broker_process import BrokerProcess

BODY = b"x" * 100
ROUNDS = 3
# One by one is slow: fewer of them.
FEWER = 20


def ours_one_by_one(uri, count):
    with connect(uri) as connection:
        channel = connection.channel()
        queue = channel.queue_declare(exclusive=True).queue
        channel.confirm_select()
        return clock(count // FEWER, lambda: channel.publish_and_wait("", queue, BODY))


def pika_one_by_one(uri, count):
    connection = pika.BlockingConnection(pika.URLParameters(uri))
    channel = connection.channel()
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.confirm_delivery()
    rate = clock(count // FEWER, lambda: channel.basic_publish("", queue, BODY))
    connection.close()
    return rate


def clock(count, act):
    began = time.perf_counter()
    for _ in range(count):
        act()
    return count / (time.perf_counter() - began)


def ours_all_at_once(uri, count):
    with connect(uri) as connection:
        channel = connection.channel()
        queue = channel.queue_declare(exclusive=True).queue
        channel.confirm_select()
        began = time.perf_counter()
        for _ in range(count):
            channel.basic_publish("", queue, BODY)
        channel.wait_for_confirms()
        return count / (time.perf_counter() - began)


def ours_futures(uri, count):
    with connect(uri) as connection:
        channel = connection.channel()
        queue = channel.queue_declare(exclusive=True).queue
        channel.confirm_select()
        began = time.perf_counter()
        futures = [channel.publish_future("", queue, BODY) for _ in range(count)]
        for future in futures:
            future.result()
        return count / (time.perf_counter() - began)


class PikaAllAtOnce:
    """pika's SelectConnection: publish all in one callback, stop when the last one is answered."""

    def __init__(self, uri, count):
        self.count = count
        self.connection = pika.SelectConnection(pika.URLParameters(uri), on_open_callback=self.opened)

    def opened(self, connection):
        connection.channel(on_open_callback=self.channel_opened)

    def channel_opened(self, channel):
        self.channel = channel
        channel.queue_declare("", exclusive=True, callback=self.declared)

    def declared(self, frame):
        self.queue = frame.method.queue
        self.channel.confirm_delivery(self.answered, callback=self.publish)

    def publish(self, _):
        self.began = time.perf_counter()
        for _ in range(self.count):
            self.channel.basic_publish("", self.queue, BODY)

    def answered(self, frame):
        if frame.method.delivery_tag == self.count:
            self.rate = self.count / (time.perf_counter() - self.began)
            self.connection.close()
            self.connection.ioloop.stop()

    def run(self):
        self.connection.ioloop.start()
        return self.rate


def pika_all_at_once(uri, count):
    return PikaAllAtOnce(uri, count).run()


WAYS = (ours_one_by_one, pika_one_by_one, ours_all_at_once, ours_futures, pika_all_at_once)


def main(uri, count):
    rates = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way in WAYS:
            rates[way].append(way(uri, count))
    medians = {way.__name__: statistics.median(found) for way, found in rates.items()}
    for name, rate in medians.items():
        print(f"{name:20} {rate:10,.0f}/s")
    for ours, theirs in (
        ("ours_one_by_one", "pika_one_by_one"),
        ("ours_all_at_once", "pika_all_at_once"),
        ("ours_futures", "pika_all_at_once"),
        ("ours_all_at_once", "pika_one_by_one"),
    ):
        print(f"{ours} / {theirs}: {medians[ours] / medians[theirs]:.1f}x")


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    if len(sys.argv) > 1 and sys.argv[1]:
        main(sys.argv[1], count)
    else:
        with tempfile.TemporaryDirectory() as folder:
            broker = BrokerProcess(Path(folder))
            try:
                main(f"amqp://guest:guest@{broker.host}:{broker.port}/%2f", count)
            finally:
                broker.stop()
