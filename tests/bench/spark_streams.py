"""The part of `bench_spark` that reads a stream, through the stream protocol, and fills it."""

import json
import os
import time
from pathlib import Path

from pybroker.client import Address, Options
from pybroker.spark.stream.link import Link

STREAM = "bench-spark-stream"
BODY_OCTETS = 100
BLOCK = 5_000
PER_TRIGGER = 250_000


def replay(spark: object, place: Path, rows: int) -> None:
    """Copy messages of the stream into Parquet."""
    source = spark.read.format("pybroker").options(**of_stream()).option("endingOffsets", json.dumps({STREAM: rows}))
    source.load().write.parquet(str(place / "out"))
    assert spark.read.parquet(str(place / "out")).count() == rows


def follow(spark: object, place: Path, rows: int) -> None:
    """Do the same by a streaming query, which ends when it has so many."""
    source = spark.readStream.format("pybroker").options(**of_stream(), startingOffsets="earliest")
    frame = source.option("maxOffsetsPerTrigger", str(min(rows, PER_TRIGGER))).load()
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    query = writer.start(str(place / "out"))
    while sum(each.numInputRows for each in query.recentProgress) < rows:
        assert query.isActive
        time.sleep(0.05)
    query.stop()


def of_stream() -> dict[str, str]:
    return {"stream": STREAM, "streamPort": os.environ["BENCH_STREAM_PORT"]}


OF_STREAMS = {"replay": replay, "follow": follow}


def fill_stream(rows: int, port: int) -> None:
    """Publish so many messages to the stream, with confirms."""
    section = b"\x00Su\xa0" + bytes([BODY_OCTETS])
    with Link(Options(addresses=(Address("127.0.0.1", port),))) as link:
        publisher = link.publisher(STREAM)
        for first in range(0, rows, BLOCK):
            bodies = [section + b"%0*d" % (BODY_OCTETS, number) for number in range(first, first + BLOCK)]
            publisher.publish(first + 1, bodies, 60.0)
        publisher.settle(60.0)
