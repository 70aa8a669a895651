"""The latency of messages while a thousand clients reconnect over TLS, beside that of the same messages alone.

usage: python -m tests.bench.bench_reconnects [--clients N] [--rate N] [--secs N] [--rounds N] [--every] [--first]
       [--elsewhere] [--pinned loop|broker] [--json FILE]

Starts a daemon of its own. amqpload publishes and consumes on a plain connection at a fixed rate, which gives the
percentiles. A process of its own, with the lowest priority because clients have machines of their own, has N clients
connected over TLS; in every other run it cuts them all off and has them come back as fast as the broker lets them, and
tells how long that took. With --every they come back evenly over the run instead. With --first the broker's loop
and amqpload go before all else on the machine, as tasks of real time (root only): what others do there matters less.
With --elsewhere a third kind of run has the same storm at another daemon, whose work is none of the measured broker's:
what it costs all the same is the machine's part. With --pinned the first core is the loop's alone, or the broker's with
its threads, and all else is on the others, as on a server with cores enough.
Rounds of all kinds take turns, so that they see the same machine; the medians are compared. Prints one JSON line; exit
status 1 when a bound is missed: p99 beside at most 1.1 times that alone, and nobody kept out.
Needs amqpload built beside it:  gcc -O2 -Wall -o amqpload amqpload.c -lpthread
"""

import argparse
import json
import multiprocessing
import os
import resource
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from pamqp import commands, frame

from pybroker.version import VERSION
from tests.certificates import make_certificates
from tests.interop.broker_process import BrokerProcess

AMQPLOAD = Path(__file__).with_name("amqpload")
RATIO_MAX = 1.1
# Handshakes that the clients have under way at once.
AT_ONCE = 64
# After the load began, and before it ends.
MARGIN_S = 2.0
# All that a client says until its connection is open; it need not wait for answers in between.
GREETING = b"AMQP\0\0\x09\x01" + b"".join(
    frame.marshal(method, 0)
    for method in (
        commands.Connection.StartOk({}, "PLAIN", "\0guest\0guest"),
        commands.Connection.TuneOk(100, 131_072, 0),
        commands.Connection.Open("/"),
    )
)
OPEN_OK = b"\0\x0a\0\x29"


class Clients:
    """Connections over TLS, and one process that has them."""

    def __init__(self, port, authority, count):
        self.port = port
        self.count = count
        self.context = ssl.create_default_context(cafile=authority)
        self.sockets = []

    def connect(self, _=None):
        """Return a connection that is open."""
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        secured = self.context.wrap_socket(sock, server_hostname="localhost")
        secured.sendall(GREETING)
        answer = b""
        while OPEN_OK not in answer:
            octets = secured.recv(65_536)
            if not octets:
                raise ConnectionError("the broker closed it")
            answer += octets
        return secured

    def storm(self):
        """Cut all off and connect them anew; return how long that took, in seconds, and how many were kept out."""
        began = time.monotonic()
        for each in self.sockets:
            each.close()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            futures = [pool.submit(self.connect) for _ in range(self.count)]
        self.sockets = [each.result() for each in futures if each.exception() is None]
        return time.monotonic() - began, self.count - len(self.sockets)

    def trickle(self, secs):
        """Have one after the other reconnect, evenly over the time; return as `storm` does."""
        began, refused = time.monotonic(), 0
        for n, each in enumerate(self.sockets):
            time.sleep(max(0.0, began + n * secs / self.count - time.monotonic()))
            each.close()
            try:
                self.sockets[n] = self.connect()
            except OSError:
                refused += 1
        return time.monotonic() - began, refused


def run_clients(port, authority, count, secs, orders, answers):
    """Run in a process of its own: a storm, or a trickle of so many seconds, for each order."""
    os.nice(19)
    clients = Clients(port, authority, count)
    answers.put(clients.storm())
    while orders.get():
        answers.put(clients.trickle(secs) if secs else clients.storm())


class Place:
    """A daemon with TLS, and the process whose clients reconnect to it."""

    def __init__(self, folder, options):
        folder.mkdir()
        made = make_certificates(folder)
        config = f"listeners.ssl.1 = 127.0.0.1:0\nssl_options.certfile = {made.server.certificate}\n"
        config += f"ssl_options.keyfile = {made.server.key}\n"
        self.broker = BrokerProcess(folder, config=config)
        self.orders, self.answers = multiprocessing.Queue(), multiprocessing.Queue()
        secs = options.secs - 2 * MARGIN_S if options.every else 0
        given = (self.broker.tls_port, made.authority.certificate, options.clients, secs, self.orders, self.answers)
        self.process = multiprocessing.Process(target=run_clients, args=given, daemon=True)
        self.process.start()
        self.first_s, self.refused = self.answers.get()

    def reconnect(self):
        """Have all clients reconnect; return how long that took, in seconds, and how many were kept out."""
        self.orders.put(True)
        return self.answers.get()

    def stop(self):
        """End the clients and the daemon."""
        self.orders.put(False)
        self.process.join()
        self.broker.stop()


def measure(broker, options, place):
    """Return amqpload's figures of one run on a broker; with reconnects at a place if there is one."""
    pid = broker.pid
    words = f"--port {broker.port} --pid {pid} -x1 -y1 -a -s16 --rate {options.rate} -z {options.secs}".split()
    loop_s, others_s = _loop_s(pid), _threads_s(pid)
    with subprocess.Popen([str(AMQPLOAD), *words], stdout=subprocess.PIPE, text=True) as load:
        if options.first:
            go_first(load.pid)
        took_s, refused = 0.0, 0
        if place is not None:
            time.sleep(MARGIN_S)
            took_s, refused = place.reconnect()
        found = json.loads(load.communicate()[0])
    return {
        **{name: found["lat_us"][name] for name in ("p50", "p99", "p999", "max") if name in found["lat_us"]},
        "consumed_per_s": round(found["cons_rate"]),
        "broker_cpu_pct": found["broker_cpu_pct"],
        "loop_cpu_s": round(_loop_s(pid) - loop_s, 2),
        "handshakes_cpu_s": round(_threads_s(pid) - others_s, 2),
        "reconnects_s": round(took_s, 2),
        "refused": refused,
    }


def go_first(pid):
    """Have a process's first thread run before others, those of its own process included.

    Niceness is not enough: on Linux 6.6 and later a thread that wakes may wait some milliseconds until the slice of the
    one that runs is over.
    """
    os.sched_setscheduler(pid, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def pin(pid, what, cores):
    """Give a daemon's loop the first core, and its other threads the others, or the first one as well."""
    first, *others = cores
    for each in psutil.Process(pid).threads():
        os.sched_setaffinity(each.id, {first} if what == "broker" or each.id == pid else others)


def _loop_s(pid):
    """Return the seconds on a CPU of the loop."""
    return sum(each.user_time + each.system_time for each in psutil.Process(pid).threads() if each.id == pid)


def _threads_s(pid):
    """Return the seconds on a CPU of all threads but the loop's."""
    return sum(each.user_time + each.system_time for each in psutil.Process(pid).threads() if each.id != pid)


def parse_options():
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1_000)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--secs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", action="store_true", help="one after the other, evenly over the run")
    parser.add_argument("--first", action="store_true", help="the loop and amqpload before all else")
    parser.add_argument("--elsewhere", action="store_true", help="also measure beside a storm at another daemon")
    parser.add_argument("--pinned", choices=["loop", "broker"], help="what has the first core for itself")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def run_rounds(options, folder):
    """Return the results of all runs by kind, and those of the first connects, of which nothing is measured."""
    cores = sorted(os.sched_getaffinity(0))
    if options.pinned:
        os.sched_setaffinity(0, cores[1:])  # of all that is started from here
    places = {"beside": Place(folder / "beside", options)}
    try:
        broker = places["beside"].broker
        if options.pinned:
            pin(broker.pid, options.pinned, cores)
        if options.first:
            go_first(broker.pid)
        if options.elsewhere:
            places["elsewhere"] = Place(folder / "elsewhere", options)
        runs = {kind: [] for kind in ("alone", *places)}
        for _ in range(options.rounds):
            for kind, some in runs.items():
                some.append(measure(broker, options, places.get(kind)))
    finally:
        for place in places.values():
            place.stop()
    return runs, places["beside"]


def main():
    """Measure, print the figures and return the exit status."""
    options = parse_options()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        runs, place = run_rounds(options, Path(folder))
    medians = {kind: statistics.median(each["p99"] for each in some) for kind, some in runs.items()}
    figures = {
        "version": VERSION,
        "cores": os.cpu_count(),
        **{name: getattr(options, name) for name in ("clients", "rate", "secs", "every", "first", "pinned")},
        "first_connect_s": round(place.first_s, 2),
        "p99_us": medians,
        "ratio": round(medians["beside"] / medians["alone"], 3),
        "runs": runs,
    }
    refused = place.refused + sum(each["refused"] for each in runs["beside"])
    text = json.dumps(figures)
    if options.json:
        options.json.write_text(text + "\n")
    print(text)
    return 0 if figures["ratio"] <= RATIO_MAX and not refused else 1


if __name__ == "__main__":
    sys.exit(main())
