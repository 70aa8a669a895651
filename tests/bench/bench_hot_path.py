"""The hot path without sockets: octets in, octets out, in microseconds of CPU a message. For comparing two commits.

usage: python -m tests.bench.bench_hot_path [name ...]        (--list names them)

Each bench feeds 128-KiB chunks of publishes to one session and takes the deliveries out of another, auto-ack, as
amqpload's workload of that name does. No kernel, no event loop: what is left is ours.
"""

import logging
import sys
import time
from collections.abc import Iterator

from pamqp import commands, frame as frames, header

from tests.fakes import Exchange, Queue, World

CHUNK_OCTETS = 131_072
SECONDS = 1.0


def publish(exchange: str, key: str, body: bytes, **properties: object) -> bytes:
    """Return the octets of one publish on channel 1."""
    parts = [
        frames.marshal(commands.Basic.Publish(exchange=exchange, routing_key=key), 1),
        frames.marshal(header.ContentHeader(0, len(body), commands.Basic.Properties(**properties)), 1),
        b"\x03\x00\x01" + len(body).to_bytes(4) + body + b"\xce",
    ]
    return b"".join(parts)


def equal() -> Iterator[bytes]:
    """b-16: byte-identical messages."""
    while True:
        yield publish("", "q0", b"x" * 16, delivery_mode=1)


def unique() -> Iterator[bytes]:
    """b-16-uniq: a message-id each."""
    n = 0
    while True:
        n += 1
        yield publish("", "q0", b"x" * 16, delivery_mode=1, message_id=f"id-{n:010}")


def vary() -> Iterator[bytes]:
    """b-16-vary: sizes from 8 to 24."""
    n = 0
    while True:
        n += 1
        yield publish("", "q0", b"x" * (8 + n * 7919 % 17), delivery_mode=1)


def mix() -> Iterator[bytes]:
    """b-200-mix: ids, sizes, and a headers table on each fifth."""
    n = 0
    while True:
        n += 1
        table = {"trace": "abcd1234", "tries": 1} if n % 5 == 0 else None
        size = 100 + n * 7919 % 201
        yield publish("", "q0", b"x" * size, delivery_mode=1, message_id=f"id-{n:010}", headers=table)


def topic() -> Iterator[bytes]:
    """f-topic: 1,000 keys in turn, 1,000 bindings spread over 10 queues."""
    n = 0
    while True:
        n += 1
        yield publish("bench", f"k.{n % 1000}.x", b"x" * 16, delivery_mode=1)


BENCHES = {"b-16": equal, "b-16-uniq": unique, "b-16-vary": vary, "b-200-mix": mix, "f-topic": topic}


def chunks(messages: Iterator[bytes]) -> list[tuple[bytes, int]]:
    """Return a few megabytes of publishes in chunks, with the number of messages in each."""
    out = []
    for _ in range(16):
        parts = []
        size = 0
        while size < CHUNK_OCTETS:
            parts.append(next(messages))
            size += len(parts[-1])
        out.append((b"".join(parts), len(parts)))
    return out


def measure(name: str) -> float:
    """Return microseconds of CPU a message."""
    world = World()
    producer, consumer = world.connect(), world.connect()
    producer.call(Exchange.Declare(exchange="bench", exchange_type="topic"))
    for queue in range(10):
        producer.declare(f"q{queue}")
        consumer.consume(f"q{queue}", no_ack=True)
    for binding in range(1000 if name == "f-topic" else 0):
        producer.call(Queue.Bind(queue=f"q{binding % 10}", exchange="bench", routing_key=f"k.{binding}.*"))
    turn, session, target = world.turn, producer.session, consumer.session
    data = chunks(BENCHES[name]())
    count = 0
    started = 0.0
    for warm in (True, False):
        started, count = time.process_time(), 0
        while time.process_time() - started < (0.2 if warm else SECONDS):
            for octets, n in data:
                session.receive(octets)
                while turn.queues:
                    world.broker.pump()
                    target.pop_output()
                    target.output_sent(0)
                turn.sessions.clear()
                count += n
    return (time.process_time() - started) * 1e6 / count


def main() -> None:
    """Run the benches that were named, or all."""
    logging.disable(logging.WARNING)  # transient queues are deprecated, and say so
    names = sys.argv[1:] or list(BENCHES)
    if names == ["--list"]:
        print("\n".join(f"{name:10} {bench.__doc__}" for name, bench in BENCHES.items()))
        return
    for name in names:
        print(f"{name:10} {measure(name):6.2f} us a message")


if __name__ == "__main__":
    main()
