"""F33, C1: transient messages beyond what memory is to hold lie on disk meanwhile, and are no more after a restart."""

import struct
from itertools import pairwise

import psutil
from pamqp import commands

from tests.checker import Verdict
from tests.faults.load import wait_until
from tests.interop.peer import METHOD, PERSISTENT, Peer, publish

# Paging begins at half of it.
WATERMARK_MB = 120
RSS_MB_MAX = 110
BODY_OCTETS = 4_000
COUNT = 15_000  # in each queue: 60 MB
BATCH = 100


def body(queue: str, number: int) -> bytes:
    """Return a body that no other message has."""
    return (f"{queue} {number} ".encode() * BODY_OCTETS)[: BODY_OCTETS - number % 7]


def fill(address, queue: str, properties: bytes, **arguments) -> None:
    """Publish COUNT messages, and wait until they are in the queue."""
    with Peer(address) as peer:
        peer.open()
        peer.call(commands.Queue.Declare(queue=queue, **arguments), commands.Queue.DeclareOk)
        head = publish("", queue, b"", properties)
        split = head.index(b"\x02\x00\x01")
        method, kind = head[:split], head[split + 7 + 12 : -1]
        for start in range(0, COUNT, BATCH):
            octets = []
            for number in range(start, start + BATCH):
                one = body(queue, number)
                header = struct.pack(">HHQ", 60, 0, len(one)) + kind
                octets += (method, struct.pack(">BHI", 2, 1, len(header)), header, b"\xce")
                octets += (struct.pack(">BHI", 3, 1, len(one)), one, b"\xce")
            peer.socket.sendall(b"".join(octets))
        got = peer.call(commands.Queue.Declare(queue=queue, passive=True), commands.Queue.DeclareOk)
        assert got.message_count == COUNT
        peer.close()


def drain(address, queue: str) -> None:
    """Consume everything; it comes in order, to the octet."""
    with Peer(address) as peer:
        peer.open()
        peer.call(commands.Basic.Consume(queue=queue, no_ack=True), commands.Basic.ConsumeOk)
        number, left, parts = 0, 0, []
        while number < COUNT:
            frame = peer.read_frame()
            if frame.type == METHOD:
                parts = []
            elif frame.type == 2:
                left = struct.unpack_from(">Q", frame.payload, 4)[0]
            else:
                parts.append(frame.payload)
                left -= len(frame.payload)
                if not left:
                    assert b"".join(parts) == body(queue, number), number
                    number += 1
        got = peer.call(commands.Queue.Declare(queue=queue, passive=True), commands.Queue.DeclareOk)
        assert got.message_count == 0
        peer.close()


def rss_mb(broker) -> float:
    return psutil.Process(broker.process.pid).memory_info().rss / 1e6


def pages(broker):
    return list((broker.data / "pages").iterdir())


def paged_out(broker) -> dict[str, list[int]]:
    """Return by queue how many messages there are, and how many of them are on disk alone."""
    table = broker.ctl("list_queues", "--quiet", "--no-table-headers", "name", "messages", "messages_paged_out")
    rows = [line.split() for line in table.splitlines()]
    return {name: [int(count) for count in counts] for name, *counts in rows}


def test_transient_messages_lie_on_disk_while_memory_is_short_and_are_gone_after_a_kill(broker, publish_line):
    # F33
    broker.start()
    idle_mb = rss_mb(broker)
    broker.ctl("set_vm_memory_high_watermark", "absolute", f"{WATERMARK_MB}MB")
    # Transient messages of a durable queue, all messages of a transient one.
    fill(broker.address, "first", b"\0\0", durable=True)
    rss = [rss_mb(broker)]
    fill(broker.address, "second", PERSISTENT)
    rss.append(rss_mb(broker))
    fill(broker.address, "third", b"\0\0", durable=True)
    rss.append(rss_mb(broker))
    # Each is 60 MB more, and none is in memory.
    assert all(after - before < 30 for before, after in pairwise(rss)), rss
    wait_until(lambda: sum(gone for _, gone in paged_out(broker).values()) > 2 * COUNT, "most is paged out")
    assert rss[-1] < RSS_MB_MAX
    assert all(counts[0] == COUNT for counts in paged_out(broker).values())
    disk_mb = sum(path.stat().st_size for path in pages(broker)) / 1e6
    assert disk_mb > 2 * COUNT * BODY_OCTETS / 1e6
    for queue in ("first", "second"):
        drain(broker.address, queue)
    assert paged_out(broker)["first"] == paged_out(broker)["second"] == [0, 0]
    assert paged_out(broker)["third"][1] > COUNT / 2
    drained_mb = rss_mb(broker)
    assert drained_mb < RSS_MB_MAX
    left = sum(path.stat().st_size for path in pages(broker)) / 1e6
    assert left < 1.2 * COUNT * BODY_OCTETS / 1e6
    broker.kill()
    assert pages(broker)
    broker.start()
    assert pages(broker) == []
    assert paged_out(broker) == {"first": [0, 0], "third": [0, 0]}
    broker.stop()
    verdict = Verdict(n=3 * COUNT, faults=1)
    publish_line(verdict, idle_mb=idle_mb, filled_mb=rss[-1], pages_mb=disk_mb, drained_mb=drained_mb)


def test_nothing_of_the_pages_is_left_after_a_clean_stop(broker):
    broker.start()
    fill(broker.address, "first", b"\0\0", durable=True)
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MB")  # nobody publishes from here on
    wait_until(lambda: pages(broker), "something is paged out")
    broker.stop()
    assert pages(broker) == []
