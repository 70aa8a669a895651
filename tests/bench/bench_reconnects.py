"""The latency of messages while a thousand clients reconnect over TLS, beside that of the same messages alone.

usage: python -m tests.bench.bench_reconnects [--clients N] [--rate N] [--secs N] [--rounds N] [--every] [--first]
       [--json FILE]

Starts a daemon of its own. amqpload publishes and consumes on a plain connection at a fixed rate, which gives the
percentiles. A process of its own, with the lowest priority because clients have machines of their own, has N clients
connected over TLS; in every other run it cuts them all off and has them come back as fast as the broker lets them, and
tells how long that took. With --every they come back evenly over the run instead. With --first the broker's loop
and amqpload go before all else on the machine, as far as niceness can (root only): what others do there matters less.
Rounds of both kinds take turns, so that both see the same machine; the medians are compared. Prints one JSON line; exit
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


def measure(broker, options, orders, answers):
    """Return amqpload's figures of one run; with reconnects in it if there are `orders`, and what they took."""
    pid = broker.pid
    words = f"--port {broker.port} --pid {pid} -x1 -y1 -a -s16 --rate {options.rate} -z {options.secs}".split()
    handshakes_s = _threads_s(pid)
    with subprocess.Popen([str(AMQPLOAD), *words], stdout=subprocess.PIPE, text=True) as load:
        if options.first:
            go_first(load.pid)
        took_s, refused = 0.0, 0
        if orders is not None:
            time.sleep(MARGIN_S)
            orders.put(True)
            took_s, refused = answers.get()
        found = json.loads(load.communicate()[0])
    return {
        **{name: found["lat_us"][name] for name in ("p50", "p99", "p999", "max") if name in found["lat_us"]},
        "consumed_per_s": round(found["cons_rate"]),
        "broker_cpu_pct": found["broker_cpu_pct"],
        "handshakes_cpu_s": round(_threads_s(pid) - handshakes_s, 2),
        "reconnects_s": round(took_s, 2),
        "refused": refused,
    }


def go_first(pid):
    """Have a process's first thread run before others, those of its own process included."""
    os.setpriority(os.PRIO_PROCESS, pid, -20)
    Path(f"/proc/{pid}/autogroup").write_text("-20")


def _threads_s(pid):
    """Return the seconds on a CPU of all threads but the loop's."""
    return sum(each.user_time + each.system_time for each in psutil.Process(pid).threads() if each.id != pid)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1_000)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--secs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", action="store_true", help="one after the other, evenly over the run")
    parser.add_argument("--first", action="store_true", help="the loop and amqpload before all else")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        made = make_certificates(Path(folder))
        config = f"listeners.ssl.1 = 127.0.0.1:0\nssl_options.certfile = {made.server.certificate}\n"
        config += f"ssl_options.keyfile = {made.server.key}\n"
        broker = BrokerProcess(Path(folder), config=config)
        if options.first:
            go_first(broker.pid)
        orders, answers = multiprocessing.Queue(), multiprocessing.Queue()
        secs = options.secs - 2 * MARGIN_S if options.every else 0
        given = (broker.tls_port, made.authority.certificate, options.clients, secs, orders, answers)
        process = multiprocessing.Process(target=run_clients, args=given, daemon=True)
        process.start()
        try:
            first_s, refused = answers.get()
            runs = {"alone": [], "beside": []}
            for _ in range(options.rounds):
                runs["alone"].append(measure(broker, options, None, None))
                runs["beside"].append(measure(broker, options, orders, answers))
        finally:
            orders.put(False)
            process.join()
            broker.stop()
    medians = {kind: statistics.median(each["p99"] for each in some) for kind, some in runs.items()}
    figures = {
        "version": VERSION,
        "cores": os.cpu_count(),
        **{name: getattr(options, name) for name in ("clients", "rate", "secs", "every", "first")},
        "first_connect_s": round(first_s, 2),
        "p99_us": medians,
        "ratio": round(medians["beside"] / medians["alone"], 3),
        "runs": runs,
    }
    refused += sum(each["refused"] for each in runs["beside"])
    text = json.dumps(figures)
    if options.json:
        options.json.write_text(text + "\n")
    print(text)
    return 0 if figures["ratio"] <= RATIO_MAX and not refused else 1


if __name__ == "__main__":
    sys.exit(main())
