"""How long the requests of the management interface, of scrapers and of agents take, with many queues.

usage: python -m tests.bench.bench_pages [--queues N] [--requests N] [--json FILE]

Starts a daemon of its own, declares N queues, and asks for the overview, for pages of a hundred queues by name and by
rate, for all queues, and for metrics: each so often, one after the other, in milliseconds. `first` is when the first
octets of a body came, `whole` when all had come. The memory of pybroker-web is told before the first request and after
the last, and that of the daemon beside one without web interface. Prints one JSON line; exit status 1 when a bound is
missed, as long as there is one for so many queues.
"""

import argparse
import contextlib
import http.client
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from pybroker.version import VERSION
from tests.bench.bench_management import AUTHORIZATION, COLUMNS, OVERVIEW, Place, declare, start
from tests.interop.broker_process import BrokerProcess

PAGE = f"/api/queues?page=1&page_size=100&pagination=true&use_regex=false&columns={','.join(COLUMNS)}"
# The door and the path of each request, and how much less often than others it is made.
REQUESTS = {
    "overview": ("management", OVERVIEW, 1),
    "page by name": ("management", f"{PAGE}&sort=name", 1),
    "page by rate": ("management", f"{PAGE}&sort=in_rate_10s&sort_reverse=true", 1),
    "all queues": ("management", "/api/queues", 10),
    "metrics": ("prometheus", "/metrics", 1),
    "metrics per object": ("prometheus", "/metrics/per-object", 10),
}
# The bounds in milliseconds, by the number of queues: `first` and `whole`; the overview's is of its p99.
BOUNDS = {
    10_000: {
        "overview": (None, 5),
        "page by name": (None, 10),
        "page by rate": (None, 30),
        "all queues": (20, 500),
        "metrics": (None, 10),
        "metrics per object": (None, 500),
    },
    100_000: {
        "overview": (None, 5),
        "page by name": (None, 20),
        "page by rate": (None, 150),
        "all queues": (50, 5_000),
        "metrics": (None, 10),
        "metrics per object": (None, 5_000),
    },
}


def ask(place, door, path, times):
    """Return the milliseconds to the first octets of each answer and to its end, and how many octets the last had."""
    connection = http.client.HTTPConnection("127.0.0.1", getattr(place, door))
    first, whole, octets = [], [], 0
    for _ in range(times):
        asked = time.perf_counter()
        connection.request("GET", path, headers=AUTHORIZATION)
        answer = connection.getresponse()
        assert answer.status == 200, (path, answer.status, answer.read(200))
        octets = len(answer.read(1))
        first.append(1_000 * (time.perf_counter() - asked))
        octets += len(answer.read())
        whole.append(1_000 * (time.perf_counter() - asked))
        time.sleep(0.005)
    connection.close()
    return first, whole, octets


def told(took):
    """Return what is told of some durations."""
    ordered = sorted(took)
    return {
        "p50": round(statistics.median(ordered), 2),
        "p99": round(ordered[int(0.99 * (len(ordered) - 1))], 2),
        "max": round(ordered[-1], 2),
    }


def memory_kib(place):
    """Return the memory of the daemon and of its web process."""
    daemon = psutil.Process(place.pid)
    (web,) = (each for each in daemon.children() if "pybroker.http.main" in each.cmdline())
    return {"daemon": daemon.memory_info().rss >> 10, "web": web.memory_info().rss >> 10}


def measure(folder, options):
    """Return all figures."""
    with contextlib.ExitStack() as closing:
        stack = []
        closing.callback(lambda: [broker.stop() for broker in stack])
        place = start(folder / "with", stack, f"prometheus.series_max = {1_000 * options.queues}\n")
        plain = BrokerProcess(folder / "without")
        stack.append(plain)
        for each in (place, Place(plain.port, plain.pid, 0, 0)):
            declare(each, options.queues)
        time.sleep(15)  # rates and samples have begun
        found = {"memory_kib": {"before": memory_kib(place)}}
        for name, (door, path, rarer) in REQUESTS.items():
            ask(place, door, path, 1)
            first, whole, octets = ask(place, door, path, max(3, options.requests // rarer))
            found[name] = {"first": told(first), "whole": told(whole), "octets": octets}
        found["memory_kib"]["after"] = memory_kib(place)
        found["memory_kib"]["daemon without web"] = plain.rss_octets() >> 10
        return found


def missed(found, queues):
    """Return which bounds are missed."""
    names = []
    for name, bounds in BOUNDS.get(queues, {}).items():
        kind = "p99" if name == "overview" else "p50"
        for part, most_ms in zip(("first", "whole"), bounds, strict=True):
            if most_ms is not None and found[name][part][kind] > most_ms:
                names.append(f"{name}: {part}")
    return names


def main():
    """Measure, print the figures and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queues", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        found = measure(Path(folder), options)
    bad = missed(found, options.queues)
    text = json.dumps({"version": VERSION, "cores": os.cpu_count(), "queues": options.queues, **found, "missed": bad})
    if options.json:
        options.json.write_text(text + "\n")
    print(text)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
