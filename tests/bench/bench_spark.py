"""The cost of a million messages between queues and Spark: read, drained into Parquet, published; and by plain scripts.

    .venv/bin/python -m tests.bench.bench_spark [--rows 1000000] [--parent FOLDER] [--broker HOST:PORT:PID]

It starts a broker of its own unless one is given, fills a queue (messages of 60 octets with ids of their own), and runs
the connector's streaming read, its batch read and its sink in one Spark session; a script of pika and pyarrow that
reads, and one of pika that publishes. `--parent` is a checkout of another version, which runs the same afterwards in a
session of its own. No query has more than `--round` rows, a million: more are several queries, one after the other. CPU
is what /proc says of each process and its children, without what fills the queue. The Spark session is warm. The fixed
cost of a query, of starting the Python processes above all, is measured too, with a thousand rows; the rest is the cost
of each further million. A busy machine takes up to twice the CPU for the same work, so the bound in seconds is meant
for a quiet one; ratios hold on either.

`replay` and `follow` read a stream of messages of 100 octets, in batch and as a stream, through the stream protocol.

Gates: at most 1.0 CPU seconds of Python for a million further rows of a stream, at most 2.5 for a million rows read of
a queue, at least 3 times less CPU in all than the reading script, at most half of the parent's Python, and with
`--long` memory that does not grow with the rows. Exit code 1 if one is missed.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pybroker.client import connect, parse_uri
from pybroker.client.channel.content import Encoder
from pybroker.spark.session import Session
from tests.bench.process_usage import Peak, spent
from tests.bench.spark_streams import OF_STREAMS, STREAM, fill_stream
from tests.interop.broker_process import BrokerProcess
from tests.spark.stream.conftest import stream_port

QUEUE = "bench-spark"
BODY_OCTETS = 60
BLOCK = 5_000
FEW = 1_000
PER_TRIGGER = 250_000
# Rows after which the JVM has compiled what it compiles.
WARM = 500_000
PYTHON_CPU_MAX_S = 2.5
STREAM_CPU_MAX_S = 1.0
TIMES_LESS_MIN = 3.0
OF_PARENT_MAX = 0.5
# A script that waits for each confirm is slow; what it takes for a message does not depend on how many there are.
SCRIPT_PUBLISHES = 50_000
ROOT = Path(__file__).parents[2]
# Octets of all Python processes and the JVM together: 1 to 10 million rows may differ by so much, which is no trend.
GROWTH_MAX = 1.25


# -- the load


def props(number: int) -> bytes:
    message_id = b"%016x" % number
    return struct.pack(">HBB", 0x1080, 2 - 1, len(message_id)) + message_id


def load(uri: str, rows: int) -> None:
    """Publish so many messages: transient ones, without confirms."""
    session = Session(parse_uri(uri))
    encode = Encoder(1, 131_072).encode
    body = b"b" * BODY_OCTETS
    for first in range(0, rows, BLOCK):
        numbers = range(first, min(rows, first + BLOCK))
        session._send(b"".join(encode("", QUEUE, props(n), body, mandatory=False, immediate=False) for n in numbers))
    while session.messages_ready(QUEUE) < rows:
        time.sleep(0.1)
    session.close()


def fill(uri: str, rows: int) -> None:
    """Let another process publish, whose CPU is nobody's here."""
    command = [sys.executable, __file__, "--child", "load", "--uri", uri, "--rows", str(rows)]
    output = Path(tempfile.mkstemp()[1])
    subprocess.run(["sh", "-c", '("$@"; echo done) >"$0" 2>&1 &', str(output), *command], check=True)
    while not (text := output.read_text()).endswith("done\n"):
        time.sleep(0.1)
    output.unlink()
    assert text == "done\n", text


# -- what is measured, each in a process of its own


def by_spark(uri: str, rows: int, how: str, folder: str, each: int) -> dict[str, dict[str, object]]:
    from tests.spark.conftest import CONFIG, spark_environment

    os.environ.update(spark_environment())
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    # A long job wants the second compiler, which the tests' short one does without.
    for name, value in (CONFIG | {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    found = {}
    for name in set(how.split(",")) & set(OF_STREAMS):
        found[name] = by_replay(rows, partial(OF_STREAMS[name], spark), Path(folder, name))
    for name in [name for name in how.split(",") if name in WORK]:
        work = partial(WORK[name], spark, {"uri": uri})
        found[name] = by_query(uri, rows, work, Path(folder, name), each, fills=name != "sink")
    return found


def by_query(
    uri: str, rows: int, work: Callable[[Path, int], None], place: Path, each: int, *, fills: bool
) -> dict[str, object]:
    """Let warm queries work, `each` rows at most in one; return what they took."""
    if fills:
        fill(uri, WARM)
    work(place / "warm", WARM)
    empty(uri)
    fixed = measured(uri, FEW, partial(work, place / "few", FEW), fills=fills)[1]
    empty(uri)
    cpu_s = dict.fromkeys(fixed, 0.0)
    wall_s = 0.0
    for first in range(0, rows, each):
        count = min(each, rows - first)
        took_s, took_cpu_s = measured(uri, count, partial(work, place / "run", count), fills=fills)
        wall_s += took_s
        cpu_s = {kind: cpu_s[kind] + took_cpu_s[kind] for kind in cpu_s}
    if not fills:
        assert ready(uri) == rows
    empty(uri)
    queries = -(-rows // each)
    further = {kind: (cpu_s[kind] - queries * fixed[kind]) / rows * 1e6 for kind in cpu_s}
    return {"rows": rows, "wall_s": wall_s, "cpu_s": cpu_s, "fixed_cpu_s": fixed, "further_cpu_s": further}


def by_replay(rows: int, work: Callable[[Path, int], None], place: Path) -> dict[str, object]:
    """Read so many messages of the stream from its first one; return what that took."""
    work(place / "warm", WARM)
    fixed = measured("", 0, partial(work, place / "few", FEW), fills=False)[1]
    wall_s, cpu_s = measured("", 0, partial(work, place / "run", rows), fills=False)
    further = {kind: (cpu_s[kind] - fixed[kind]) / rows * 1e6 for kind in cpu_s}
    return {"rows": rows, "wall_s": wall_s, "cpu_s": cpu_s, "fixed_cpu_s": fixed, "further_cpu_s": further}


def measured(uri: str, rows: int, work: Callable[[], None], *, fills: bool) -> tuple[float, dict[str, float]]:
    """Fill the queue if it is to be read, then work; return what that took: seconds, and CPU seconds by kind."""
    if fills:
        fill(uri, rows)
    began, before = time.monotonic(), spent()
    work()
    after = spent()
    return time.monotonic() - began, {kind: after[kind] - before[kind] for kind in after}


def stream(spark: object, options: dict[str, str], place: Path, rows: int) -> None:
    """Move the queue into Parquet; a second time it goes on where the first one ended."""
    source = spark.readStream.format("pybroker").options(**options, queue=QUEUE)
    frame = source.options(spoolLocation=str(place / "spool"), maxMessagesPerTrigger=str(PER_TRIGGER)).load()
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    assert writer.trigger(availableNow=True).start(str(place / "out")).awaitTermination(1_800)
    assert spark.read.parquet(str(place / "out")).count() >= rows


def batch(spark: object, options: dict[str, str], place: Path, rows: int) -> None:
    """Copy the queue into Parquet, and leave it as it is."""
    frame = spark.read.format("pybroker").options(**options, queue=QUEUE).load()
    frame.write.mode("append").parquet(str(place / "out"))


def sink(spark: object, options: dict[str, str], place: Path, rows: int) -> None:
    """Publish rows of a text into the queue, in two tasks."""
    frame = spark.range(0, rows, 1, 2).selectExpr(f"lpad(string(id), {BODY_OCTETS}, 'b') AS value")
    frame.write.format("pybroker").options(**options, exchange="", routingKey=QUEUE).mode("append").save()


WORK = {"stream": stream, "batch": batch, "sink": sink}


def empty(uri: str) -> None:
    with connect(uri) as connection:
        connection.channel().queue_purge(QUEUE)


def ready(uri: str) -> int:
    with connect(uri) as connection:
        return connection.channel().queue_declare(QUEUE, passive=True).message_count


def by_script(uri: str, rows: int, how: str, folder: str, _: int) -> dict[str, dict[str, object]]:
    """Do what people write with pika: read into a table of pyarrow's and write that; or publish with confirms."""
    import pika
    import pyarrow as pa
    import pyarrow.parquet as pq

    address = parse_uri(uri).addresses[0]
    rows = min(rows, SCRIPT_PUBLISHES) if how == "publish" else rows
    if how == "read":
        fill(uri, rows)
    began, before = time.monotonic(), spent()
    connection = pika.BlockingConnection(pika.ConnectionParameters(*address))
    channel = connection.channel()
    if how == "publish":
        channel.confirm_delivery()
        properties = pika.BasicProperties(delivery_mode=2)
        for number in range(rows):
            channel.basic_publish("", QUEUE, b"%060d" % number, properties, mandatory=True)
    else:
        channel.basic_qos(prefetch_count=5_000)
        taken = []
        for method, properties, body in channel.consume(QUEUE):
            taken.append((body, method.routing_key, method.exchange, method.redelivered, properties.message_id))
            if len(taken) % 2_500 == 0 or len(taken) == rows:
                channel.basic_ack(method.delivery_tag, multiple=True)
            if len(taken) == rows:
                break
        names = ["value", "routing_key", "exchange", "redelivered", "message_id"]
        columns = map(list, zip(*taken, strict=True))
        pq.write_table(pa.table(dict(zip(names, columns, strict=True))), f"{folder}/s.parquet")
    connection.close()
    after = spent()
    cpu_s = {kind: after[kind] - before[kind] for kind in after}
    return {how: {"rows": rows, "wall_s": time.monotonic() - began, "cpu_s": cpu_s}}


# -- the run


def run(what: str, how: str, uri: str, rows: int, broker: BrokerProcess, root: Path, each: int) -> dict[str, dict]:
    """Run one child with the sources of `root` and print what it took; return that by name."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--child", what, "--how", how, "--uri", uri, "--rows", str(rows)]
        words = [*command, "--round", str(each), "--folder", folder]
        environment = os.environ | {"PYTHONPATH": str(root)}
        with subprocess.Popen(words, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True) as child:
            peak = Peak(child.pid, broker.pid)
            peak.start()
            output = child.communicate()[0]
        assert child.returncode == 0
        found = json.loads(output.splitlines()[-1])
    for name, result in found.items():
        result["peak"] = peak.octets
        result["per_million"] = {kind: seconds / result["rows"] * 1e6 for kind, seconds in result["cpu_s"].items()}
        show(f"{name}{'' if root == ROOT else ' of parent'}", result)
    return found


def show(name: str, result: dict) -> None:
    per = result["per_million"]
    line = f"{name:<17}{result['rows']:>11,} rows{result['wall_s']:>8.1f} s   "
    line += f"CPU s per million: python {per['python']:.2f}"
    if "fixed_cpu_s" in result:
        fixed, further = result["fixed_cpu_s"]["python"], result["further_cpu_s"]["python"]
        line += f" (a query of any size {fixed:.2f}, each million {further:.2f})  java {per['java']:.2f}"
    print(line, flush=True)


def judge(results: dict[str, dict], parents: dict[str, dict]) -> list[str]:
    """Return the gates that are missed."""
    missed = []
    for name in OF_STREAMS:
        further = results[name]["further_cpu_s"]["python"] if name in results else 0.0
        if further > STREAM_CPU_MAX_S:
            missed.append(
                f"{name}: {further:.2f} CPU s of Python for a million further rows, {STREAM_CPU_MAX_S} is the most"
            )
    for name in ("stream", "batch"):
        python = results[name]["per_million"]["python"] if name in results else 0.0
        if python > PYTHON_CPU_MAX_S:
            missed.append(f"{name}: {python:.2f} CPU s of Python for a million rows, {PYTHON_CPU_MAX_S} is the most")
    for name, parent in parents.items():
        share = results[name]["per_million"]["python"] / parent["per_million"]["python"]
        print(f"{name}: {share:.2f} of the parent's Python")
        if share > OF_PARENT_MAX:
            missed.append(f"{name}: {share:.2f} of the parent's Python, {OF_PARENT_MAX} is the most")
    for name, script in (("stream", "read"), ("batch", "read"), ("sink", "publish")):
        if name not in results or script not in results:
            continue
        spark = sum(results[name]["per_million"][kind] for kind in ("python", "java"))
        times = results[script]["per_million"]["python"] / spark
        print(f"the script takes {times:.1f} times the CPU of {name}, JVM included")
        if name == "stream" and times < TIMES_LESS_MIN:
            missed.append(f"{times:.1f} times less CPU than the script, {TIMES_LESS_MIN} is the least")
    if {"long", "stream"} <= results.keys():
        octets = [sum(results[name]["peak"][kind] for kind in ("python", "java")) for name in ("stream", "long")]
        print(f"memory of {results['long']['rows']:,} rows is {octets[1] / octets[0]:.2f} times that of fewer")
        if octets[1] / octets[0] > GROWTH_MAX:
            missed.append(f"memory grew {octets[1] / octets[0]:.2f} times, {GROWTH_MAX} is the most")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU and memory of queue to Parquet, by Spark and by a script.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--long", type=int, default=0, help="rows of another streaming run, for memory")
    parser.add_argument("--round", type=int, default=1_000_000, help="the most rows of a query, and of the queue")
    parser.add_argument(
        "--only",
        nargs="*",
        choices=(*WORK, *OF_STREAMS, "scripts"),
        default=(*WORK, *OF_STREAMS, "scripts"),
        help="what to run",
    )
    parser.add_argument("--parent", type=Path, help="checkout of another version to run beside this one, C built")
    parser.add_argument("--broker", help="HOST:PORT:PID of another broker")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    for name in ("--child", "--how", "--uri", "--folder"):
        parser.add_argument(name, default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child == "load":
        load(given.uri, given.rows)
        return 0
    if given.child:
        work = by_spark if given.child == "spark" else by_script
        print(json.dumps(work(given.uri, given.rows, given.how, given.folder, given.round)))
        return 0
    if given.broker:
        os.environ["INTEROP_BROKER"] = given.broker
    with tempfile.TemporaryDirectory() as folder:
        broker = BrokerProcess(Path(folder))
        try:
            uri = f"amqp://{broker.host}:{broker.port}"
            results, parents = run_all(given, uri, broker)
        finally:
            broker.stop()
    missed = judge(results, parents)
    if given.json:
        given.json.write_text(json.dumps({"this": results, "parent": parents}, indent=1) + "\n")
    print(*(f"MISSED {gate}" for gate in missed), sep="\n")
    return 1 if missed else 0


def run_all(given: argparse.Namespace, uri: str, broker: BrokerProcess) -> tuple[dict[str, dict], dict[str, dict]]:
    """Return the results of this version, and of the parent."""
    with connect(uri) as connection:
        connection.channel().queue_declare(QUEUE)
        connection.channel().queue_declare(STREAM, durable=True, arguments={"x-queue-type": "stream"})
    how = ",".join(name for name in (*WORK, *OF_STREAMS) if name in given.only)
    if set(given.only) & set(OF_STREAMS):
        port = stream_port(broker)
        os.environ["BENCH_STREAM_PORT"] = str(port)
        fill_stream(max(given.rows, WARM), port)
    start = partial(run, uri=uri, broker=broker, each=given.round)
    results, parents = {}, {}
    if how:
        results |= start("spark", how, rows=given.rows, root=ROOT)
        if given.parent:
            parents |= start(
                "spark",
                ",".join(name for name in WORK if name in given.only),
                rows=given.rows,
                root=given.parent.absolute(),
            )
    if "scripts" in given.only:
        for script in ("read", "publish"):
            results |= start("script", script, rows=given.rows, root=ROOT)
            empty(uri)
    if given.long:
        results["long"] = start("spark", "stream", rows=given.long, root=ROOT)["stream"]
    return results, parents


if __name__ == "__main__":
    sys.exit(main())
