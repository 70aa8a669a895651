"""The example of pybroker-spark(7), etc/pybroker-orders.py: sums are equal to the cent, also while all is killed.

`tests/spark/killed_program` says how to have more orders and kills.
"""

import json
import os
import runpy
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from pybroker.spark.stream.errors import StreamError
from pybroker.spark.stream.link import Link
from tests.sources import ROOT
from tests.spark.conftest import CONFIG, spark_environment
from tests.spark.killed_program import KILLS_TIMEOUT_S, ROWS, KilledProgram
from tests.spark.sink.streams import bodies
from tests.spark.stream.conftest import stream_port

EXAMPLE = ROOT / "etc/pybroker-orders.py"
HOUR = 360
# Below that a query has too few batches for all kills.
ORDERS = max(ROWS, 400_000)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = ("orders-0", "orders-1", "orders-2", "totals")


def totals(count: int) -> dict[tuple[int, str], tuple[int, int]]:
    """Return (hour, shop) -> (orders, cents) of the hours that are over, by arithmetic alone."""
    orders, cents = Counter(), Counter()
    for number in range(((count - 1) // HOUR - 1) * HOUR):
        key = number // HOUR, f"shop-{number % 7}"
        orders[key] += 1
        cents[key] += number * 7919 % 9900
    return {key: (orders[key], cents[key]) for key in orders}


def in_all(expected) -> tuple[int, int, int]:
    return len(expected), *map(sum, zip(*expected.values(), strict=True))


@pytest.fixture
def broker_options(broker, channel, uri):
    if not broker.is_ours:
        pytest.skip("exactlyOnce=task needs pybroker")
    yield {"uri": uri, "streamPort": str(stream_port(broker))}
    for stream in STREAMS:
        channel.queue_delete(stream)
    channel.exchange_delete("orders")


@pytest.mark.spark
def test_the_sums_of_the_example_are_equal(spark, broker_options, tmp_path):
    example = runpy.run_path(str(EXAMPLE))
    example["declare"](broker_options["uri"])
    # Run again it goes on, where the broker has the first orders.
    for count in 1_000, 3_000:
        example["publish"](spark, broker_options, count)
    example["aggregate"](spark, broker_options, str(tmp_path))
    expected = in_all(totals(3_000))
    found = example["check"](spark, broker_options, str(tmp_path))
    assert {"orders": expected, "files": expected, "stream": expected} == found


@pytest.fixture
def program(spark_is_possible, tmp_path):
    program = KilledProgram(tmp_path, "work/checkpoint/files", "work/checkpoint/stream")
    settings = [f'--conf "{name}={value}"' for name, value in CONFIG.items()]
    submit = " ".join(["--master local[2]", *settings, "pyspark-shell"])
    program.environment = spark_environment() | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYSPARK_SUBMIT_ARGS": submit,
    }
    words = [str(tmp_path / "work"), str(ORDERS), f"uri={program.uri}", f"streamPort={program.stream_port}"]
    program.command = [sys.executable, str(EXAMPLE), *words]
    yield program
    program.end()
    program.broker.stop()


def has_orders(program) -> bool:
    try:
        with Link(program.options) as link:
            return link.ends("orders-0").next > 0
    except StreamError:
        return False


def by_key(rows) -> dict[tuple[int, str], tuple[int, int]]:
    """Return (hour, shop) -> (orders, cents) of rows, each of which is there once."""
    found = {
        (int((row["hour"] - BEGIN) / timedelta(hours=1)), row["shop"]): (row["orders"], row["cents"]) for row in rows
    }
    assert len(rows) == len(found)
    return found


def in_stream(program, count: int) -> list[dict]:
    """Return all totals of the stream, which has so many."""
    with Link(program.options) as link:
        assert count == link.ends("totals").next
        rows = [json.loads(body) for body in bodies(link, "totals", count)]
    return [row | {"hour": datetime.fromisoformat(row["hour"])} for row in rows]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(KILLS_TIMEOUT_S)
def test_the_sums_are_equal_whatever_is_killed(program, request):
    # The first life ends amid the orders that it publishes.
    assert program.run_until(lambda: has_orders(program))
    program.kill("driver")
    program.run_and_kill()
    program.run()
    expected = totals(ORDERS)
    print(f"{program}, {len(expected)} totals")
    rows, orders, cents = in_all(expected)
    for name in "orders", "files", "stream":
        assert f"{name:8}{rows:8} totals of {orders:8} orders: {cents / 100:14.2f}" in program.output.splitlines()
    assert expected == by_key(in_stream(program, rows))
    files = request.getfixturevalue("spark").read.parquet(str(program.folder / "work/totals"))
    found = files.selectExpr("unix_seconds(hour) AS hour", "shop", "orders", "cents").collect()
    assert expected == by_key([row.asDict() | {"hour": datetime.fromtimestamp(row.hour, UTC)} for row in found])
