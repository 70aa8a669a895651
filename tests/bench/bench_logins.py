"""The effect of a flood of wrong passwords on clients that are connected, and on those that log in with the right one.

usage: python -m tests.bench.bench_logins [--rate N] [--secs N] [--quiet]

Starts a daemon of its own with users of both kinds of hashes. A process of its own tries so many wrong passwords a
second: a third each for a user with a SHA-256 hash, for one with an Argon2id hash, for names that do not exist. Beside
it a connection that stands asks again and again (channel.flow), which shows every stall of the loop from the outside;
and honest logins are tried, each with its own connection: a SHA-256 user, an Argon2id user that was here before, and
Argon2id users that come for the first time. With --quiet the same without a flood, for comparison.
Prints one JSON line; exit status 1 when a bound is missed: stalls p99 below 20 ms, no honest login refused.
"""

import argparse
import hashlib
import itertools
import json
import multiprocessing
import resource
import selectors
import socket
import sys
import tempfile
import threading
import time
from base64 import b64encode
from pathlib import Path

import psutil
from pamqp import commands, frame

from pybroker.control import codec
from tests.ctl.live_node import LiveNode

STALL_P99_MS_MAX = 20.0
HEADER = b"AMQP\0\0\x09\x01"
NEWCOMERS = 40
PING_S = 0.002
HONEST_PAUSE_S = 0.1
CAPABILITIES = {"capabilities": {"authentication_failure_close": True}}


def start_ok(user, password):
    """Return protocol header and start-ok, which may be sent before anything has come."""
    return HEADER + frame.marshal(commands.Connection.StartOk(CAPABILITIES, "PLAIN", f"\0{user}\0{password}"), 0)


class Flood:
    """Wrong passwords at a fixed rate; a socket each, open until the broker closes it."""

    def __init__(self, port):
        self.port = port
        self.selector = selectors.DefaultSelector()
        self.tried = self.refused = self.silent = self.open = self.open_max = 0

    def run(self, rate, secs):
        names = itertools.cycle(["quick", "slow", "nobody"])
        begin = time.monotonic()
        while (now := time.monotonic()) < begin + secs or (self.open and now < begin + secs + 5):
            due = int((min(now - begin, secs)) * rate) - self.tried
            for _ in range(min(due, 50)):
                self.attempt(next(names))
            for key, _ in self.selector.select(0.001):
                self.read(key.fileobj)
        return {"tried": self.tried, "refused": self.refused, "silent": self.silent, "open_max": self.open_max}

    def attempt(self, name):
        self.tried += 1
        sock = socket.socket()
        sock.connect(("127.0.0.1", self.port))
        sock.setblocking(False)
        sock.send(start_ok(f"{name}{self.tried}" if name == "nobody" else name, f"wrong{self.tried}"))
        self.selector.register(sock, selectors.EVENT_READ)
        self.open += 1
        self.open_max = max(self.open, self.open_max)

    def read(self, sock):
        try:
            octets = sock.recv(65_536)
        except OSError:
            octets = b""
        if b"Login was" in octets:
            self.refused += 1
        elif octets:
            return
        else:
            self.silent += 1
        self.selector.unregister(sock)
        sock.close()
        self.open -= 1


def flood(port, rate, secs, results):
    """Run in a process of its own."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    results.put(Flood(port).run(rate, secs))


def receive(sock, wanted):
    """Return the next frame of this kind."""
    octets = b""
    while True:
        octets += sock.recv(65_536)
        while len(octets) >= 8 and len(octets) >= int.from_bytes(octets[3:7]) + 8:
            used, _, value = frame.unmarshal(octets)
            octets = octets[used:]
            if isinstance(value, commands.Connection.Close):
                raise ConnectionRefusedError(value.reply_text)
            if isinstance(value, wanted):
                return value


def login(port, user, password):
    """Return an open socket, as far as connection.open-ok."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(start_ok(user, password))
    receive(sock, commands.Connection.Tune)
    sock.sendall(frame.marshal(commands.Connection.TuneOk(10, 131_072, 0), 0))
    sock.sendall(frame.marshal(commands.Connection.Open("/"), 0))
    receive(sock, commands.Connection.OpenOk)
    return sock


def ping(port, until, stalls_ms):
    """Ask the broker again and again how long it takes to hear."""
    sock = login(port, "quick", "right")
    sock.sendall(frame.marshal(commands.Channel.Open(), 1))
    receive(sock, commands.Channel.OpenOk)
    question = frame.marshal(commands.Channel.Flow(True), 1)
    while time.monotonic() < until:
        begin = time.perf_counter()
        sock.sendall(question)
        receive(sock, commands.Channel.FlowOk)
        stalls_ms.append((time.perf_counter() - begin) * 1000)
        time.sleep(PING_S)
    sock.close()


def honest(port, until, names, took_ms, refused):
    """Log in with the right password again and again."""
    for name in names:
        if time.monotonic() >= until:
            return
        begin = time.perf_counter()
        try:
            login(port, name, "right").close()
            took_ms.append((time.perf_counter() - begin) * 1000)
        except OSError as error:
            refused.append(str(error))
        time.sleep(HONEST_PAUSE_S)


def add_users(node):
    """Add users whose password is `right`: `quick` with RabbitMQ's hash, all others with Argon2id."""
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(str(node.socket))
        answers = control.makefile("rb")
        answers.readline()

        def ask(name, **given):
            control.sendall(codec.encode_request(name, given))
            while b'"end"' not in (line := answers.readline()):
                assert b'"error"' not in line, line

        digest = b"salt" + hashlib.sha256(b"saltright").digest()
        ask("add_user", username="quick", password=b64encode(digest).decode(), pre_hashed_password=True)
        for name in ("slow", "known", *(f"new{n}" for n in range(NEWCOMERS))):
            ask("add_user", username=name, password="right")
        for name in ("quick", "slow", "known", *(f"new{n}" for n in range(NEWCOMERS))):
            ask("set_permissions", username=name, configure=".*", write=".*", read=".*")


def cpu_s(process):
    """Return the seconds on a CPU, of the loop's thread and of all others."""
    used = {thread.id: thread.user_time + thread.system_time for thread in process.threads()}
    loop = used.pop(process.pid)
    return loop, sum(used.values())


def at(values, share):
    """Return a percentile."""
    return round(sorted(values)[min(len(values) - 1, int(len(values) * share))], 2) if values else None


def measure(node, rate, secs):
    """Return the figures of one run."""
    process = psutil.Process(node.process.pid)
    rss_before = process.memory_info().rss
    cpu_before = cpu_s(process)
    results = multiprocessing.Queue()
    flooding = multiprocessing.Process(target=flood, args=(node.port, rate, secs, results))
    if rate:
        flooding.start()
        time.sleep(1)
    until = time.monotonic() + secs - 1
    stalls_ms, refused = [], []
    took_ms = {"quick": [], "known": [], "newcomer": []}
    newcomers = (f"new{n}" for n in range(NEWCOMERS))
    names = {"quick": itertools.repeat("quick"), "known": itertools.repeat("known"), "newcomer": newcomers}
    threads = [threading.Thread(target=ping, args=(node.port, until, stalls_ms))]
    threads += [
        threading.Thread(target=honest, args=(node.port, until, names[kind], took_ms[kind], refused)) for kind in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    figures = {"rate": rate, "secs": secs, "pings": len(stalls_ms)}
    figures |= {f"stall_{name}_ms": at(stalls_ms, share) for name, share in [("p50", 0.5), ("p99", 0.99), ("max", 1)]}
    for kind, values in took_ms.items():
        figures |= {
            f"{kind}_logins": len(values),
            f"{kind}_p50_ms": at(values, 0.5),
            f"{kind}_p99_ms": at(values, 0.99),
        }
    figures |= {"honest_refused": len(refused), "rss_grown_mb": (process.memory_info().rss - rss_before) >> 20}
    if rate:
        figures |= {f"flood_{name}": value for name, value in results.get(timeout=60).items()}
        flooding.join()
    loop_s, others_s = (round(after - before, 2) for after, before in zip(cpu_s(process), cpu_before, strict=True))
    figures |= {"loop_cpu_s": loop_s, "threads_cpu_s": others_s}
    if refused:
        figures["refused_with"] = refused[0]
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--secs", type=int, default=20)
    parser.add_argument("--quiet", action="store_true", help="no flood")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        node = LiveNode(Path(folder))
        try:
            add_users(node)
            figures = measure(node, 0 if options.quiet else options.rate, options.secs)
        finally:
            node.end()
    print(json.dumps(figures))
    fine = figures["stall_p99_ms"] < STALL_P99_MS_MAX and not figures["honest_refused"]
    sys.exit(not fine)


if __name__ == "__main__":
    main()
