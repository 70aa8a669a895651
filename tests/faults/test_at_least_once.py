"""Signal 9 while dead letters are forwarded at least once: each confirmed message reaches both targets, and once."""

import random
import threading
import time

import pika
import pytest

from tests.faults.load import wait_until

BOUND = 200
DONE_S = 60.0


class Client(threading.Thread):
    """A client that works until its connection is cut."""

    def __init__(self, address) -> None:
        super().__init__(daemon=True)
        host, port = address
        self.connection = pika.BlockingConnection(pika.ConnectionParameters(host, port))
        self.channel = self.connection.channel()

    def run(self) -> None:
        try:
            self.work()
        except (pika.exceptions.AMQPError, OSError):
            return

    def work(self) -> None:
        raise NotImplementedError


class Publisher(Client):
    """Publishes numbers from `first` on; `confirmed` are those that will not be lost."""

    def __init__(self, address, first: int) -> None:
        super().__init__(address)
        self.number = first
        self.confirmed: list[int] = []
        self.channel.confirm_delivery()

    def work(self) -> None:
        persistent = pika.BasicProperties(delivery_mode=2)
        while True:
            self.number += 1
            try:
                self.channel.basic_publish("", "source", b"%d" % self.number, persistent, mandatory=True)
            except pika.exceptions.NackError:
                continue
            self.confirmed.append(self.number)


class Rejecter(Client):
    """Sends all it gets to the dead letter exchange."""

    def work(self) -> None:
        self.channel.basic_qos(prefetch_count=20)
        for method, _, _ in self.channel.consume("source"):
            self.channel.basic_reject(method.delivery_tag, requeue=False)


class Drainer(Client):
    """Takes what is in the bounded target, some of it before it is on disk: after a kill that comes anew."""

    def __init__(self, address, seen: set[int]) -> None:
        super().__init__(address)
        self.seen = seen

    def work(self) -> None:
        self.channel.basic_qos(prefetch_count=10)
        for method, _, body in self.channel.consume("bounded"):
            self.seen.add(int(body))
            self.channel.basic_ack(method.delivery_tag)


def declare(address) -> None:
    host, port = address
    with pika.BlockingConnection(pika.ConnectionParameters(host, port)) as connection:
        channel = connection.channel()
        channel.exchange_declare("dlx", "fanout", durable=True)
        strategy = {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
        arguments = {"x-queue-type": "quorum", "x-dead-letter-exchange": "dlx", "x-max-length": 500}
        channel.queue_declare("source", durable=True, arguments=arguments | strategy)
        channel.queue_declare("all", durable=True)
        bounded = {"x-max-length": BOUND, "x-overflow": "reject-publish"}
        channel.queue_declare("bounded", durable=True, arguments=bounded)
        for queue in ("all", "bounded"):
            channel.queue_bind(queue, "dlx")


def left(broker) -> tuple[int, int]:
    """Return how many messages are in the source and in the bounded target."""
    rows = broker.ctl("-q", "list_queues", "name", "messages").splitlines()
    found = dict(line.split("\t") for line in rows)
    return int(found["source"]), int(found["bounded"])


def kills(broker, number: int, seed: int) -> int:
    """End a broker so often by signal 9; return how many messages were confirmed, each of which is where it should."""
    pick = random.Random(seed)
    broker.start()
    declare(broker.address)
    confirmed: set[int] = set()
    seen: set[int] = set()
    first = 0
    for last in [False] * number + [True]:
        publisher = Publisher(broker.address, first)
        clients = [Rejecter(broker.address), Drainer(broker.address, seen)] + ([] if last else [publisher])
        for client in clients:
            client.start()
        if last:
            deadline = time.monotonic() + DONE_S
            while left(broker) != (0, 0):
                assert time.monotonic() < deadline, (left(broker), broker.log[-3_000:])
                time.sleep(0.1)
            publisher.connection.close()
        else:
            wait_until(lambda publisher=publisher: publisher.confirmed, "something is confirmed")
            publisher.join(pick.uniform(0.2, 1.5))
            broker.kill()
        for client in clients:
            client.join(0 if last else 20)
        confirmed.update(publisher.confirmed)
        first = publisher.number
        if not last:
            broker.start()
    host, port = broker.address
    with pika.BlockingConnection(pika.ConnectionParameters(host, port)) as connection:
        channel = connection.channel()
        reached = []
        while (body := channel.basic_get("all", auto_ack=True)[2]) is not None:
            reached.append(int(body))
    assert len(reached) == len(set(reached))
    assert confirmed <= set(reached)
    assert confirmed <= seen
    assert set(reached) <= seen  # what was seen before it was on disk, and never confirmed, may be gone
    broker.stop()
    return len(confirmed)


def test_a_kill_neither_loses_nor_doubles_what_is_forwarded_at_least_once(broker, seed):
    assert kills(broker, 1, seed) > 0


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_kills_neither_lose_nor_double_what_is_forwarded_at_least_once(broker, seed):
    assert kills(broker, 30, seed) > 1_000
