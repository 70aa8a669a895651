"""The latency and the rate of messages while people and scrapers look at the broker, beside those of messages alone.

usage: python -m tests.bench.bench_management [--queues N] [--rate N] [--rounds N] [--first] [--elsewhere]
       [--rabbitmq PORT:PID:MANAGEMENT:PROMETHEUS] [--json FILE]

Starts a daemon of its own, declares N queues, and has amqpload publish and consume at a fixed rate. In every other run
a process of the lowest priority does what an open browser, Prometheus and an agent do: every two seconds a page of the
interface, the queues and the overview in turns, with what every page asks; every five seconds /metrics; every ten a
list of all queues. With --elsewhere a third kind of run asks another
daemon with as many queues: what that costs is the machine's part. With --rabbitmq the same is done to a running
RabbitMQ (the ports of AMQP, management and Prometheus, and its process), in turns with ours. With --first the broker's
loop and amqpload go before all else on the machine (root only). Prints one JSON line; exit status 1 when a bound is
missed: p99 beside at most 1.1 times that alone, and 0.98 of the messages. Needs amqpload built beside it.
"""

import argparse
import base64
import http.client
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pika
import psutil

from pybroker.version import VERSION
from tests.bench.bench_reconnects import AMQPLOAD, go_first
from tests.interop.broker_process import BrokerProcess
from tests.ports import free_port

P99_RATIO_MAX = 1.1
RATE_RATIO_MIN = 0.98
ROUND_S = 20
AUTHORIZATION = {"Authorization": "Basic " + base64.b64encode(b"guest:guest").decode()}
# The columns of the interface's page of queues; RabbitMQ's has none to choose.
COLUMNS = (
    *("name", "vhost", "messages", "type", "durable", "auto_delete", "exclusive", "arguments", "paused", "paused_why"),
    *("messages_ready", "messages_unacknowledged", "head_age_ms", "in_rate_10s", "out_rate_10s", "consumers"),
)
QUEUES = "/api/queues?page=1&page_size=100&pagination=true&use_regex=false"
OURS = f"{QUEUES}&columns={','.join(COLUMNS)}"
OVERVIEW = "/api/overview?msg_rates_age=600&msg_rates_incr=5&lengths_age=600&lengths_incr=5"
NODES = "/api/nodes?node_stats_age=600&node_stats_incr=5"
WHY_BLOCKED = "/api/pybroker/why-blocked"
# Asked every ten seconds: at which second, at which door.
LOOKS = (
    *((at_s, "management", QUEUES) for at_s in (0.5, 4.5, 8.5)),
    *((at_s, "management", path) for at_s in (2.5, 6.5) for path in (OVERVIEW, NODES)),
    *((at_s, "management", WHY_BLOCKED) for at_s in (0.5, 4.5, 8.5)),
    *((at_s, "prometheus", "/metrics") for at_s in (1.5, 6.0)),
    (3.5, "management", "/api/queues"),
)
PERIOD_S = 10


class Place(NamedTuple):
    """A broker's process, the ports where it listens, and whether it is pybroker."""

    port: int
    pid: int
    management: int
    prometheus: int
    is_ours: bool = True

    @property
    def looks(self):
        """Return what is asked of it, in the order of time."""
        ours = [(at_s, door, OURS if path == QUEUES else path) for at_s, door, path in sorted(LOOKS)]
        return ours if self.is_ours else [each for each in sorted(LOOKS) if each[2] != WHY_BLOCKED]


def look(place, answers):
    """Look at a broker for one run, in a process of its own; answer with the milliseconds of each request by path."""
    os.nice(19)
    took, began = {}, time.monotonic()
    doors = {
        name: http.client.HTTPConnection("127.0.0.1", getattr(place, name)) for name in ("management", "prometheus")
    }
    for period_s in range(0, ROUND_S, PERIOD_S):
        for at_s, door, path in place.looks:
            time.sleep(max(0.0, began + period_s + at_s - time.monotonic()))
            asked = time.monotonic()
            doors[door].request("GET", path, headers=AUTHORIZATION)
            answer = doors[door].getresponse()
            answer.read()
            assert answer.status == 200, (path, answer.status)
            took.setdefault(path, []).append(round(1_000 * (time.monotonic() - asked), 1))
    answers.put(took)


def measure(place, options, seen):
    """Return amqpload's figures of one run on a broker, while another place, or this one, is `seen`."""
    words = f"--port {place.port} --pid {place.pid} -x1 -y1 -a -s16 --rate {options.rate} -z {ROUND_S}".split()
    took, answers = {}, multiprocessing.Queue()
    with subprocess.Popen([str(AMQPLOAD), *words], stdout=subprocess.PIPE, text=True) as load:
        if options.first:
            go_first(load.pid)
        if seen is not None:
            looker = multiprocessing.Process(target=look, args=(seen, answers), daemon=True)
            looker.start()
            took = answers.get(timeout=10 * ROUND_S)
            looker.join()
        found = json.loads(load.communicate()[0])
    return {
        **{name: found["lat_us"][name] for name in ("p50", "p99", "p999", "max")},
        "consumed_per_s": round(found["cons_rate"]),
        "broker_cpu_pct": found["broker_cpu_pct"],
        "requests_ms": took,
    }


def start(folder, stack, config=""):
    """Start a daemon with its web interface; return it and its place."""
    folder.mkdir()
    management, prometheus = free_port(), free_port()
    config += f"management.tcp.port = {management}\nprometheus.tcp.port = {prometheus}\n"
    broker = BrokerProcess(folder, config=config, options=("--web",))
    stack.append(broker)
    return Place(broker.port, broker.pid, management, prometheus)


def declare(place, count):
    """Declare durable queues."""
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", place.port))
    channel = connection.channel()
    for number in range(count):
        channel.queue_declare(f"bench-{number}", durable=True)
    connection.close()


def parse_options():
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queues", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--first", action="store_true", help="the loop and amqpload before all else")
    parser.add_argument("--elsewhere", action="store_true", help="also measure beside looks at another daemon")
    parser.add_argument("--rabbitmq", metavar="PORT:PID:MANAGEMENT:PROMETHEUS")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def run_rounds(options, folder, stack):
    """Return the results of all runs by kind."""
    ours = start(folder / "ours", stack)
    measured = {"alone": (ours, None), "beside": (ours, ours)}
    places = [ours]
    if options.elsewhere:
        places.append(start(folder / "elsewhere", stack))
        measured["elsewhere"] = ours, places[-1]
    if options.rabbitmq:
        places.append(Place(*map(int, options.rabbitmq.split(":")), is_ours=False))
        measured |= {"rabbitmq_alone": (places[-1], None), "rabbitmq_beside": (places[-1], places[-1])}
    for place in places:
        declare(place, options.queues)
        if options.first and place.is_ours:  # RabbitMQ's threads, which spin, would leave amqpload nothing
            go_first(place.pid)
    runs = {kind: [] for kind in measured}
    for _ in range(options.rounds):
        for kind, (place, seen) in measured.items():
            runs[kind].append(measure(place, options, seen))
    return runs


def ratio(runs, name, of, to):
    """Return the ratio of the medians of a figure in two kinds of run."""
    first, second = (statistics.median(each[name] for each in runs[kind]) for kind in (of, to))
    return round(first / second, 3)


def main():
    """Measure, print the figures and return the exit status."""
    options, stack = parse_options(), []
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        try:
            runs = run_rounds(options, Path(folder), stack)
            web_mib = [
                process.memory_info().rss >> 20
                for process in psutil.Process(stack[0].pid).children()
                if "pybroker.http.main" in process.cmdline()
            ]
        finally:
            for broker in stack:
                broker.stop()
    figures = {
        "version": VERSION,
        "cores": os.cpu_count(),
        **{name: getattr(options, name) for name in ("queues", "rate", "first")},
        "p99_us": {kind: statistics.median(each["p99"] for each in some) for kind, some in runs.items()},
        "p99_ratio": ratio(runs, "p99", "beside", "alone"),
        "rate_ratio": ratio(runs, "consumed_per_s", "beside", "alone"),
        "web_mib": web_mib,
        "runs": runs,
    }
    text = json.dumps(figures)
    if options.json:
        options.json.write_text(text + "\n")
    print(text)
    return 0 if figures["p99_ratio"] <= P99_RATIO_MAX and figures["rate_ratio"] >= RATE_RATIO_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
