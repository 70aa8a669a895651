"""The cost of pybrokerctl to its caller, and of a listing of 100,000 queues to the messages that pass meanwhile.

usage: python -m tests.bench.bench_control [--queues N] [--rate N] [--secs N]

Starts a daemon of its own. amqpload publishes at a fixed rate for the whole time in which list_queues runs again and
again, so every listing's slices are in its percentiles; a run of the same length without listings stands beside it.
Prints one JSON line; exit status 1 when a bound is missed: a listing in 5 s, p99 below 20 ms, a call below 100 ms CPU.
Needs amqpload built beside it:  gcc -O2 -Wall -o amqpload amqpload.c -lpthread
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.ctl.live_node import CTL, LiveNode

AMQPLOAD = Path(__file__).with_name("amqpload")
LISTING_S_MAX = 5.0
P99_US_MAX = 20_000
CALL_CPU_MS_MAX = 100.0
CALLS = {"ping": ["ping"], "list_users": ["list_users"], "status": ["status"], "help": ["help", "list_queues"]}
CALL_ROUNDS = 10


def load(node, rate, secs):
    """Start publishing and consuming at a fixed rate; its end prints the percentiles."""
    words = f"--port {node.port} --pid {node.process.pid} -x1 -y1 -a -s16 --rate {rate} -z {secs}".split()
    return subprocess.Popen([str(AMQPLOAD), *words], stdout=subprocess.PIPE, text=True)


def list_once(node):
    """Return (seconds to the first row, seconds to the end, rows) of one list_queues."""
    begin = time.monotonic()
    environment = {**os.environ, **node.environment}
    with subprocess.Popen([*CTL, "list_queues", "-s"], stdout=subprocess.PIPE, env=environment) as process:
        first_s, rows = 0.0, 0
        for _ in process.stdout:
            first_s = first_s or time.monotonic() - begin
            rows += 1
    assert process.returncode == 0
    return first_s, time.monotonic() - begin, rows


def call_cpu_ms(node, words):
    """Return the CPU milliseconds, user and system, that one call costs (median)."""
    costs = []
    for _ in range(CALL_ROUNDS):
        process = node.start([*CTL, *words], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        assert process.returncode == 0, words
        costs.append((usage.ru_utime + usage.ru_stime) * 1000)
    return round(statistics.median(costs), 1)


def measure(node, options):
    """Return the figures."""
    calls = {name: call_cpu_ms(node, words) for name, words in CALLS.items()}
    node.declare_queues([f"queue-{number:06}" for number in range(options.queues)])
    alone = json.loads(load(node, options.rate, options.secs).communicate()[0])
    publishing = load(node, options.rate, options.secs)
    time.sleep(1.5)
    listings = []
    while publishing.poll() is None:
        listings.append(list_once(node))
    beside = json.loads(publishing.communicate()[0])
    # The last one outlived the load.
    listings = listings[:-1] or listings
    return {
        "queues": options.queues,
        "rate": options.rate,
        "listings": len(listings),
        "rows": min(rows for _, _, rows in listings),
        "first_row_ms": round(max(first for first, _, _ in listings) * 1000),
        "listing_s": round(max(whole for _, whole, _ in listings), 2),
        "call_cpu_ms": calls,
        "lat_us_alone": alone["lat_us"],
        "lat_us_beside": beside["lat_us"],
        "consumed_per_s": beside["cons_rate"],
        "broker_cpu_pct": {"alone": alone["broker_cpu_pct"], "beside": beside["broker_cpu_pct"]},
    }


def main():
    """Measure, print one JSON line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queues", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--secs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        node = LiveNode(Path(folder))
        try:
            figures = measure(node, options)
        finally:
            node.end()
    bounds = {
        "listing_s": figures["listing_s"] < LISTING_S_MAX,
        "p99": figures["lat_us_beside"]["p99"] < P99_US_MAX,
        "call_cpu_ms": max(figures["call_cpu_ms"].values()) < CALL_CPU_MS_MAX,
    }
    print(json.dumps({**figures, "met": bounds}))
    return 0 if all(bounds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
