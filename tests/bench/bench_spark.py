"""The cost of a million messages on their way from a queue into Parquet: through Spark, and by the usual script.

    .venv/bin/python -m tests.bench.bench_spark [--rows 1000000] [--long 10000000] [--broker HOST:PORT:PID]

It starts a broker of its own unless one is given, fills a queue (messages of 60 octets with ids of their own), and runs
one after the other: the connector's streaming read, its batch read, a script of pika, pandas and pyarrow; then the
streaming read of `--long` rows for its memory. No query has more than `--round` rows, a million: more are several
queries, one after the other. CPU is what /proc says of each process and its children, without what fills the queue. The
Spark session is warm. The fixed cost of a query, of starting the Python processes above all, is measured too, with a
thousand rows; the rest is the cost of each further million. A busy machine takes up to twice the CPU for the same work,
so the bound in seconds is meant for a quiet one; the ratio holds on either.

Gates: at most 2.5 CPU seconds of Python for a million rows read, at least 3 times less CPU in all than the script, and
memory that does not grow with the rows. Exit code 1 if one is missed. pandas is the script's only: --pandas FOLDER says
where it is (pip install --target FOLDER 'pandas<3'), without it the script is left out.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil

from pybroker.client import connect, parse_uri
from pybroker.client.channel.content import Encoder
from pybroker.spark.session import Session
from tests.interop.broker_process import BrokerProcess

QUEUE = "bench-spark"
BODY_OCTETS = 60
BLOCK = 5_000
FEW = 1_000
PER_TRIGGER = 250_000
# Rows after which the JVM has compiled what it compiles.
WARM = 500_000
PYTHON_CPU_MAX_S = 2.5
TIMES_LESS_MIN = 3.0
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
    command = [sys.executable, "-m", "tests.bench.bench_spark", "--child", "load", "--uri", uri, "--rows", str(rows)]
    output = Path(tempfile.mkstemp()[1])
    subprocess.run(["sh", "-c", '("$@"; echo done) >"$0" 2>&1 &', str(output), *command], check=True)
    while not (text := output.read_text()).endswith("done\n"):
        time.sleep(0.1)
    output.unlink()
    assert text == "done\n", text


# -- what a process and its children used


def cpu_of(process: psutil.Process) -> tuple[float, float]:
    """Return (its own, its waited-for children's) CPU seconds."""
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return times.user + times.system, times.children_user + times.children_system
    return 0.0, 0.0


def spent() -> dict[str, float]:
    """Return CPU seconds so far of this process and all below it, by kind."""
    me = psutil.Process()
    python = sum(cpu_of(me))
    java = 0.0
    for process in me.children(recursive=True):
        own, children = cpu_of(process)
        with contextlib.suppress(psutil.Error):
            if process.name() == "java":
                java += own
                python += children  # all that the JVM starts is Python
            else:
                python += own + children
    return {"python": python, "java": java}


class Peak(threading.Thread):
    """The most resident memory that a process and all below it had at one time, by kind, looked at every second."""

    def __init__(self, pid: int, broker: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.broker = broker
        self.octets = {"python": 0, "java": 0, "broker": 0}

    def run(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(self.pid)
            while True:
                now = {"python": 0, "java": 0, "broker": psutil.Process(self.broker).memory_info().rss}
                for process in [root, *root.children(recursive=True)]:
                    with contextlib.suppress(psutil.Error):
                        now["java" if process.name() == "java" else "python"] += process.memory_info().rss
                self.octets = {kind: max(self.octets[kind], now[kind]) for kind in now}
                time.sleep(1)


# -- what is measured, each in a process of its own


def by_spark(uri: str, rows: int, how: str, folder: str, each: int) -> dict[str, object]:
    from tests.spark.conftest import CONFIG, spark_environment

    os.environ.update(spark_environment())
    from pyspark.sql import SparkSession

    began = time.monotonic()
    builder = SparkSession.builder.master("local[2]")
    # A long job wants the second compiler, which the tests' short one does without.
    for name, value in (CONFIG | {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    place = Path(folder)
    options = {"uri": uri, "queue": QUEUE}
    work = partial(stream if how == "stream" else browse, spark, options)
    fill(uri, WARM)
    work(place / "warm")
    empty(uri)
    start = {"s": time.monotonic() - began, "cpu_s": spent()}
    fixed = measured(uri, FEW, partial(work, place / "few"))[1]
    empty(uri)
    cpu_s = dict.fromkeys(fixed, 0.0)
    wall_s = 0.0
    for first in range(0, rows, each):
        took_s, took_cpu_s = measured(uri, min(each, rows - first), partial(work, place / "run"))
        wall_s += took_s
        cpu_s = {kind: cpu_s[kind] + took_cpu_s[kind] for kind in cpu_s}
    read = spark.read.parquet(str(place / "run/out")).count()
    assert read == rows, (read, rows)
    queries = -(-rows // each)
    further = {kind: (cpu_s[kind] - queries * fixed[kind]) / rows * 1e6 for kind in cpu_s}
    return {
        "rows": read,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "start": start,
        "fixed_cpu_s": fixed,
        "further_cpu_s": further,
    }


def measured(uri: str, rows: int, work: Callable[[], None]) -> tuple[float, dict[str, float]]:
    """Fill the queue, then work; return what that took: seconds, and CPU seconds by kind."""
    fill(uri, rows)
    began, before = time.monotonic(), spent()
    work()
    after = spent()
    return time.monotonic() - began, {kind: after[kind] - before[kind] for kind in after}


def stream(spark: object, options: dict[str, str], place: Path) -> None:
    """Move the queue into Parquet; a second time it goes on where the first one ended."""
    source = spark.readStream.format("pybroker").options(**options)
    frame = source.options(spoolLocation=str(place / "spool"), maxMessagesPerTrigger=str(PER_TRIGGER)).load()
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    assert writer.trigger(availableNow=True).start(str(place / "out")).awaitTermination(1_800)


def browse(spark: object, options: dict[str, str], place: Path) -> None:
    """Copy the queue into Parquet, and leave it as it is."""
    spark.read.format("pybroker").options(**options).load().write.parquet(str(place / "out"))


def empty(uri: str) -> None:
    with connect(uri) as connection:
        connection.channel().queue_purge(QUEUE)


def by_script(uri: str, rows: int, _: str, folder: str, __: int) -> dict[str, object]:
    """Do what people write: consume with pika, make a data frame, write it."""
    import pika

    pd = importlib.import_module("pandas")  # no dependency of ours, not even of the tests

    address = parse_uri(uri).addresses[0]
    fill(uri, rows)
    began, before = time.monotonic(), spent()
    connection = pika.BlockingConnection(pika.ConnectionParameters(*address))
    channel = connection.channel()
    channel.basic_qos(prefetch_count=5_000)
    taken = []
    for method, properties, body in channel.consume(QUEUE):
        taken.append((body, method.routing_key, method.exchange, method.redelivered, properties.message_id))
        if len(taken) % 2_500 == 0 or len(taken) == rows:
            channel.basic_ack(method.delivery_tag, multiple=True)
        if len(taken) == rows:
            break
    names = ["value", "routing_key", "exchange", "redelivered", "message_id"]
    pd.DataFrame(taken, columns=names).to_parquet(Path(folder, "script.parquet"))
    connection.close()
    after = spent()
    cpu_s = {kind: after[kind] - before[kind] for kind in after}
    return {"rows": len(taken), "wall_s": time.monotonic() - began, "cpu_s": cpu_s}


# -- the run


def run(
    what: str, how: str, uri: str, rows: int, broker: BrokerProcess, given: argparse.Namespace
) -> dict[str, object]:
    """Run one in a process of its own and print what it took."""
    pandas = given.pandas if what == "script" else None
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "tests.bench.bench_spark",
            "--child",
            what,
            "--how",
            how,
            "--uri",
            uri,
            "--rows",
            str(rows),
        ]
        command += ["--round", str(given.round)]
        environment = os.environ | ({"PYTHONPATH": pandas} if pandas else {})
        process = psutil.Process(broker.pid)
        before = sum(cpu_of(process))
        words = [*command, "--folder", folder]
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as child:
            peak = Peak(child.pid, broker.pid)
            peak.start()
            output = child.communicate()[0]
        assert child.returncode == 0
        found = json.loads(output.splitlines()[-1]) | {"peak": peak.octets}
        found["cpu_s"]["broker"] = sum(cpu_of(process)) - before
    per = {kind: seconds / found["rows"] * 1e6 for kind, seconds in found["cpu_s"].items()}
    found["name"] = f"{what} {how}".strip()
    found["per_million"] = per
    peak = {kind: octets >> 20 for kind, octets in found["peak"].items()}
    print(
        f"{found['name']:<16}{found['rows']:>11,} rows{found['wall_s']:>8.1f} s   CPU s per million: "
        f"python {per['python']:.2f}  java {per['java']:.2f}  (broker {per['broker']:.2f})   "
        f"memory MiB: python {peak['python']}  java {peak['java']}  (broker {peak['broker']})",
        flush=True,
    )
    if "fixed_cpu_s" in found:
        fixed, further = found["fixed_cpu_s"], found["further_cpu_s"]
        print(
            f"{'':<16}a query of any size takes python {fixed['python']:.2f}  java {fixed['java']:.2f}, "
            f"each further million python {further['python']:.2f}  java {further['java']:.2f}",
            flush=True,
        )
    return found


def judge(results: dict[str, dict[str, object]]) -> list[str]:
    """Return the gates that are missed."""
    missed = []
    for name in ("stream", "batch"):
        if name not in results:
            continue
        python = results[name]["per_million"]["python"]
        if python > PYTHON_CPU_MAX_S:
            missed.append(f"{name}: {python:.2f} CPU s of Python for a million rows, {PYTHON_CPU_MAX_S} is the most")
    if {"script", "stream"} <= results.keys():
        spark = sum(results["stream"]["per_million"][kind] for kind in ("python", "java"))
        script = results["script"]["per_million"]["python"]
        print(f"the script takes {script / spark:.1f} times the CPU of Spark, JVM included")
        if script / spark < TIMES_LESS_MIN:
            missed.append(f"{script / spark:.1f} times less CPU than the script, {TIMES_LESS_MIN} is the least")
    if {"long", "stream"} <= results.keys():
        octets = [sum(results[name]["peak"][kind] for kind in ("python", "java")) for name in ("stream", "long")]
        print(f"memory of {results['long']['rows']:,} rows is {octets[1] / octets[0]:.2f} times that of fewer")
        if octets[1] / octets[0] > GROWTH_MAX:
            missed.append(f"memory grew {octets[1] / octets[0]:.2f} times, {GROWTH_MAX} is the most")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU and memory of queue to Parquet, by Spark and by a script.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--long", type=int, default=10_000_000, help="rows of the run for memory, 0 for none")
    parser.add_argument("--round", type=int, default=1_000_000, help="the most rows of a query, and of the queue")
    parser.add_argument("--only", nargs="*", choices=("stream", "batch", "script", "long"), help="what to run")
    parser.add_argument("--broker", help="HOST:PORT:PID of another broker")
    parser.add_argument("--pandas", help="folder with pandas, if the environment has none")
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
            results = run_all(given, uri, broker)
        finally:
            broker.stop()
    missed = judge(results)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")
    print(*(f"MISSED {gate}" for gate in missed), sep="\n")
    return 1 if missed else 0


def run_all(given: argparse.Namespace, uri: str, broker: BrokerProcess) -> dict[str, dict[str, object]]:
    with connect(uri) as connection:
        channel = connection.channel()
        channel.queue_declare(QUEUE)
        results = {}
        for name, what, how, rows in (
            ("stream", "spark", "stream", given.rows),
            ("batch", "spark", "batch", given.rows),
            ("script", "script", "", given.rows),
            ("long", "spark", "stream", given.long),
        ):
            if given.only is not None and name not in given.only:
                continue
            if name == "script" and not (given.pandas or has_pandas()):
                print("no pandas here: the script is left out (--pandas FOLDER)")
                continue
            if rows:
                channel.queue_purge(QUEUE)
                results[name] = run(what, how, uri, rows, broker, given)
        channel.queue_delete(QUEUE)
    return results


def has_pandas() -> bool:
    return importlib.util.find_spec("pandas") is not None


if __name__ == "__main__":
    sys.exit(main())
