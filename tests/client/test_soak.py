"""Ten minutes of everything at once: publishers, consumers, calls, failing callbacks, a broker that is killed.

pytest -m slow tests/client/test_soak.py            # CLIENT_SOAK_S=60 for a minute
"""

import os
import random
import signal
import threading
import time
from collections import Counter

import psutil
import pytest
from client.scripted import WAIT_S, in_thread

from pybroker.client import Address, Connection, Options, Properties
from pybroker.client.errors import AmqpError, ClientError

SOAK_S = float(os.environ.get("CLIENT_SOAK_S", "600"))
KILLS = 6
CHANNELS = 8
PERSISTENT = Properties(delivery_mode=2)


class Soak:
    """Everything that must hold: what was confirmed arrives, in order per queue but for what is redelivered."""

    def __init__(self, options):
        self.options = options
        self.confirmed = [set() for _ in range(CHANNELS)]
        self.got = [Counter() for _ in range(CHANNELS)]
        self.ending = threading.Event()
        self.unexpected = []

    def publish(self, index):
        with Connection(self.options) as connection:
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
                        self.confirmed[index].add(each)
                time.sleep(random.random() / 100)

    def consume(self, index, channel):
        rng = random.Random(index)

        def on_message(message):
            if rng.random() < 0.01:
                message.nack()
                raise ValueError("failing on purpose")
            self.got[index][int(message.body)] += 1
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


@pytest.mark.slow
@pytest.mark.timeout(SOAK_S + 120)
@pytest.mark.skipif("INTEROP_BROKER" in os.environ, reason="it kills the broker")
def test_g4_ten_minutes_of_everything(own, caplog):
    broker = own()
    caplog.set_level("CRITICAL")
    address = Address(broker.host, broker.port)
    soak = Soak(Options(addresses=(address,), recovery_delay_s=0.2, rpc_timeout_s=WAIT_S, workers=4))
    process = psutil.Process()
    with Connection(soak.options) as consuming, Connection(soak.options) as calling:
        for index in range(CHANNELS):
            channel = consuming.channel()
            channel.queue_declare(f"soak-{index}", durable=True)
            soak.consume(index, channel)
        tasks = [in_thread(soak.publish, index) for index in range(CHANNELS)] + [in_thread(soak.call, calling)]
        sizes = []
        for _ in range(KILLS):
            soak.ending.wait(SOAK_S / (KILLS + 1))
            broker.process.send_signal(signal.SIGKILL)
            broker.process.wait()
            broker = own()
            consuming.wait_until_open(WAIT_S)
            sizes.append((process.memory_info().rss, process.num_threads(), process.num_fds()))
        soak.ending.wait(SOAK_S / (KILLS + 1))
        soak.ending.set()
        for task in tasks:
            task.result(60)
        channel = calling.channel()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and any(
            set(soak.got[i]) < soak.confirmed[i] or channel.queue_declare(f"soak-{i}", passive=True).message_count
            for i in range(CHANNELS)
        ):
            time.sleep(0.1)
    assert [sorted(soak.confirmed[i] - set(soak.got[i]))[:5] for i in range(CHANNELS)] == [[]] * CHANNELS
    print(f"{sum(map(len, soak.confirmed))} confirmed, {sum(g.total() for g in soak.got)} delivered; {sizes}")
    assert sizes[-1][1:] <= (sizes[0][1] + 6, sizes[0][2] + 6)
