"""Runs and records for the tests of the store: contents as a client's frames have them."""

import random
from array import array
from collections.abc import Iterator

from pybroker.core.routing.publish import names_of
from pybroker.run import Run, RunAttributes
from pybroker.store import format as fmt, publish_record
from pybroker.store.segments.scan import Record, scan

PERSISTENT = RunAttributes(persistent=True)
LOG_ID = 0xE90C4
SEED = fmt.seed(LOG_ID, 1)


def flat(rows: list[tuple[int, int, int, int]]) -> "array[int]":
    """Return rows of what came back as the log and the queues have them."""
    return array("Q", [number for row in rows for number in row])


def rows_of(rows: "array[int]") -> Iterator[tuple[int, int, int, int]]:
    """Give them back."""
    return zip(rows[::4], rows[1::4], rows[2::4], rows[3::4], strict=True)


def content(body: bytes, channel: int = 1, properties: bytes = b"\x10\x00\x02") -> bytes:
    """Return header frame and body frame of one message."""
    number = channel.to_bytes(2)
    header = b"\x00\x3c\x00\x00" + len(body).to_bytes(8) + properties
    frames = b"\x01" + number + len(header).to_bytes(4) + header + b"\xce"
    return frames + (b"\x03" + number + len(body).to_bytes(4) + body + b"\xce" if body else b"")


def run_of(
    bodies: list[bytes],
    first_seq: int = 1,
    names: tuple[str, str] = ("", "q"),
    attributes: RunAttributes = PERSISTENT,
    arrived_ms: int = 1_700_000_000_000,
    channel: int = 1,
    frame_octets_max: int = 131_072,
) -> Run:
    """Return a run of messages with these bodies."""
    contents = [content(body, channel) for body in bodies]
    sizes = {len(body) for body in bodies}
    return Run(
        names_of(*names),
        attributes,
        first_seq,
        contents,
        sum(map(len, contents)),
        sum(map(len, bodies)),
        sizes.pop() if len(sizes) == 1 else -1,
        arrived_ms,
        channel,
        frame_octets_max,
    )


def publish(run: Run, set_id: int = 1, seed: int = SEED) -> bytes:
    """Return the record of a whole run."""
    return publish_record.publish(set_id, run, range(run.count), run.arrived_ms, seed)


def one_of_each(seed: int = SEED) -> list[bytes]:
    """Return a record of every type but FOOTER."""
    return [
        fmt.batch_header(7, 1_700_000_000_000, 4, 1_000, seed),
        fmt.targets(1, 3, True, (5, 6), seed),
        publish(run_of([b"one"], 10), seed=seed),
        publish(run_of([b"x", b"", b"longer"], 11), seed=seed),
        fmt.settle([(5, 0, array("Q", [1, 4, 6, 6])), (6, 3, array("Q", [9, 9]))], seed),
        fmt.proven(7, seed),
    ]


def random_run(rng: random.Random, first_seq: int, octets_max: int = 300) -> Run:
    """Return a run of a few messages of many shapes."""
    count = rng.choice((1, 1, 1, 2, 5, 40))
    equal = rng.random() < 0.5
    size = rng.randint(0, octets_max)
    return run_of([rng.randbytes(size if equal else rng.randint(0, octets_max)) for _ in range(count)], first_seq)


def listed(rows) -> list[tuple[int, ...]]:
    """Return what came back as (queue, first seq, last seq, deliveries), and when it is due if it waits."""
    return [
        (queue_id, *row[:3], *([row[3]] if row[3] else [])) for queue_id, mine in rows.items() for row in rows_of(mine)
    ]


def rows_from(told) -> dict[int, "array[int]"]:
    """Return the same as rows."""
    rows: dict[int, array[int]] = {}
    for queue_id, first, last, times, *due in told:
        rows.setdefault(queue_id, array("Q")).extend((first, last, times, *(due or [0])))
    return rows


def payload_of(octets: bytes, kind: int, seed: int = SEED) -> bytes:
    """Return the payload of the only record of these octets, which has this type."""
    (found,) = scan(octets, 0, seed)
    assert isinstance(found, Record)
    assert (found.offset, found.type) == (0, kind)
    return found.payload
