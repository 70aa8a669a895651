"""Ten minutes of everything at once: publishers, consumers, calls, failing callbacks, alarms, a broker that is killed.

pytest -m slow -s tests/client/test_soak.py            # CLIENT_SOAK_S=60 for a minute; the last line has the figures
"""

import contextlib
import ctypes
import gc
import os
import random
import signal
import sys
import threading
import time

import psutil
import pytest

from pybroker.client import Address, Connection, Options, Properties
from pybroker.client.errors import AmqpError, ClientError
from tests.client.scripted import WAIT_S, in_thread

SOAK_S = float(os.environ.get("CLIENT_SOAK_S", "600"))
KILLS = 6
CHANNELS = 8
WORKERS = 4
BLOCKED_S = 2.0
NUMBERS_MAX = 1 << 21
# The growth that the process is allowed after its first round. A leak of an object a message would be hundreds of it.
GROWTH_OCTETS_MAX = 16 << 20
GROWTH_BLOCKS_MAX = 20_000
PERSISTENT = Properties(delivery_mode=2)


class LiveIndex:
    """One queue's messages by number, an octet for each: made in full, so that keeping it does not grow the process."""

    def __init__(self):
        self.confirmed = bytearray(NUMBERS_MAX)
        self.delivered = bytearray(NUMBERS_MAX)  # how often, 255 at most
        self.unflagged = 0  # came again, and were not flagged as redelivered
        self.overtaken = 0  # came for the first time, behind a later one
        self.last = 0

    def deliver(self, message):
        number = int(message.body)
        times = self.delivered[number]
        if not message.redelivered:
            self.unflagged += times > 0
            self.overtaken += not times and number < self.last
            self.last = max(number, self.last)
        self.delivered[number] = min(times + 1, 255)

    def lost(self):
        return [n for n in range(NUMBERS_MAX) if self.confirmed[n] and not self.delivered[n]]


class Soak:
    """Everything at work; what was confirmed must arrive."""

    def __init__(self, options):
        self.options = options
        self.ledgers = [LiveIndex() for _ in range(CHANNELS)]
        self.ending = threading.Event()
        self.blocked = 0
        self.recovered = 0
        self.failed = 0

    def publish(self, index):
        confirmed = self.ledgers[index].confirmed
        with Connection(self.options) as connection:
            connection.on_blocked(self._count_blocked)
            connection.on_recovered(self._count_recovered)
            channel = connection.channel()
            channel.confirm_select()
            number = 0
            while not self.ending.is_set():
                futures = {}
                try:
                    for _ in range(random.randrange(1, 200)):
                        number += 1
                        body = b"%d" % number + b" " * random.choice((0, 100, 5_000))
                        futures[number] = channel.publish_future("", f"soak-{index}", body, PERSISTENT)
                    channel.wait_for_confirms(WAIT_S)
                except ClientError:
                    connection.wait_until_open(60)
                for each, future in futures.items():
                    if future.exception(WAIT_S) is None:
                        confirmed[each] = 1
                time.sleep(random.random() / 100)

    def consume(self, index, channel):
        rng = random.Random(index)

        def on_message(message):
            if rng.random() < 0.01:
                message.nack()
                raise ValueError("failing on purpose")
            if rng.random() < 0.001:
                time.sleep(0.05)
            self.ledgers[index].deliver(message)
            message.ack()

        channel.basic_qos(50)
        channel.basic_consume(f"soak-{index}", on_message)

    def call(self, connection):
        """Open, use and close channels all the time."""
        while not self.ending.is_set():
            try:
                with connection.channel() as channel:
                    name = channel.queue_declare(exclusive=True).queue
                    channel.basic_publish("", name, b"x")
                    channel.basic_get(name, no_ack=True)
                    channel.queue_delete(name)
            except (ClientError, AmqpError):
                connection.wait_until_open(60)
            time.sleep(0.01)

    def on_error(self, channel, error, argument):
        assert str(error) == "failing on purpose"
        self.failed += 1

    def _count_blocked(self, reason):
        self.blocked += 1

    def _count_recovered(self):
        self.recovered += 1


class Size:
    """Resources of the process, and the threads of connections by their kind.

    malloc keeps what a burst left in the arenas of forty threads, so memory is looked at before and after it gave back
    what it can; objects are Python's own count.
    """

    def __init__(self):
        process = psutil.Process()
        gc.collect()
        self.octets_kept = process.memory_info().rss
        with contextlib.suppress(AttributeError):  # only glibc has it, and needs it
            ctypes.CDLL(None).malloc_trim(0)
        self.octets = process.memory_info().rss
        self.blocks = sys.getallocatedblocks()
        self.files = process.num_fds()
        self.threads = threading.active_count()
        names = [thread.name for thread in threading.enumerate()]
        self.kinds = {kind: sum(kind in name for name in names) for kind in ("reader", "writer", "recovery")}

    def __repr__(self):
        memory = f"{self.octets >> 20} MiB ({self.octets_kept >> 20} kept by malloc), {self.blocks} objects"
        return f"{memory}, {self.threads} threads, {self.files} files"


@pytest.mark.slow
@pytest.mark.timeout(SOAK_S + 300)
@pytest.mark.skipif("INTEROP_BROKER" in os.environ, reason="it kills the broker")
def test_g4_ten_minutes_of_everything(own, caplog):
    broker = own()
    caplog.set_level("CRITICAL", logger="pybroker.client")
    address = Address(broker.host, broker.port)
    soak = Soak(Options(addresses=(address,), recovery_delay_s=0.2, rpc_timeout_s=WAIT_S, workers=WORKERS))
    sizes = []
    with Connection(soak.options, on_error=soak.on_error) as consuming, Connection(soak.options) as calling:
        for index in range(CHANNELS):
            channel = consuming.channel()
            channel.queue_declare(f"soak-{index}", durable=True)
            soak.consume(index, channel)
        tasks = [in_thread(soak.publish, index) for index in range(CHANNELS)] + [in_thread(soak.call, calling)]
        for _ in range(KILLS):
            soak.ending.wait(SOAK_S / (KILLS + 1) / 2)
            broker.ctl("set_vm_memory_high_watermark", "0")
            soak.ending.wait(BLOCKED_S)
            broker.ctl("set_vm_memory_high_watermark", "0.4")
            soak.ending.wait(SOAK_S / (KILLS + 1) / 2)
            broker.process.send_signal(signal.SIGKILL)
            broker.process.wait()
            broker = own()
            consuming.wait_until_open(WAIT_S)
            soak.ending.wait(1.0)
            sizes.append(Size())
        soak.ending.wait(SOAK_S / (KILLS + 1))
        sizes.append(Size())
        soak.ending.set()
        for task in tasks:
            task.result(60)
        channel = calling.channel()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and any(
            channel.queue_declare(f"soak-{i}", passive=True).message_count for i in range(CHANNELS)
        ):
            time.sleep(0.1)
        for each in consuming._channels():
            each._lane.wait_idle(WAIT_S)
    ledgers = soak.ledgers
    confirmed = sum(sum(ledger.confirmed) for ledger in ledgers)
    delivered = sum(sum(ledger.delivered) for ledger in ledgers)
    duplicates = delivered - sum(NUMBERS_MAX - ledger.delivered.count(0) for ledger in ledgers)
    lost = sum(len(ledger.lost()) for ledger in ledgers)
    print(
        f"\n{confirmed} confirmed, {delivered} delivered, {lost} lost, {duplicates} duplicates"
        f" ({sum(ledger.unflagged for ledger in ledgers)} not flagged as redelivered),"
        f" {sum(ledger.overtaken for ledger in ledgers)} overtaken, {soak.failed} callbacks failed, {KILLS} kills,"
        f" {soak.recovered} recoveries of publishers, blocked {soak.blocked} times\n" + "\n".join(map(repr, sizes))
    )
    assert lost == 0
    assert sum(ledger.overtaken for ledger in ledgers) == 0
    assert soak.failed > 0
    assert (soak.recovered, soak.blocked) == (KILLS * CHANNELS, KILLS * CHANNELS)
    links = CHANNELS + 2
    assert [size.kinds for size in sizes] == [{"reader": links, "writer": links, "recovery": 0}] * len(sizes)
    assert max(size.threads for size in sizes) <= 2 + CHANNELS + 1 + links * (2 + WORKERS)
    assert sizes[-1].files <= sizes[0].files
    assert sizes[-1].octets - sizes[0].octets < GROWTH_OCTETS_MAX
    assert sizes[-1].blocks - sizes[0].blocks < GROWTH_BLOCKS_MAX
