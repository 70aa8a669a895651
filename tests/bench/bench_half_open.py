"""Thousands of connections that stall in a step before AMQP: memory they cost, and how long honest clients wait.

usage: python -m tests.bench.bench_half_open [--count N] [--json FILE] [STEP ...]

Starts a daemon of its own that wants PROXY headers and TLS. For each step N connections go as far as that step and say
nothing more until the broker closes them. Meanwhile honest clients log in, one after the other, and a connection that
stands asks again and again (channel.flow), which shows every stall of the loop. Prints one JSON line; exit status 1
when a bound is missed: every honest client came in, memory grew by less than 256 MiB and is given back, and the broker
closed all of the others by itself.
"""

import argparse
import contextlib
import errno
import json
import os
import resource
import selectors
import socket
import ssl
import statistics
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import psutil
from pamqp import commands

from pybroker.version import VERSION
from tests.certificates import make_certificates
from tests.fuzz.live_preamble import HEADERS, Target
from tests.interop.broker_process import BrokerProcess
from tests.interop.peer import ClosedError, Peer

GROWTH_MIB_MAX = 256
HEADER = HEADERS[4]
WAIT_S = 120.0
PING_S = 0.005
CONFIG = """
proxy_protocol = true
proxy_protocol.trusted.1 = 127.0.0.0/8
loopback_users = none
listeners.ssl.1 = 127.0.0.1:0
ssl_options.certfile = {certificate}
ssl_options.keyfile = {key}
"""


class Handshake:
    """The client's side of one handshake."""

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    def __init__(self):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = self.context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def answer(self, octets=b""):
        """Return the next flight; empty once there is none."""
        self.incoming.write(octets)
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.outgoing.read()


HELLO = Handshake().answer()
# Octets that each connection says before it stalls; the second ones, if there are any, after an answer of the broker.
STEPS = {
    "connected": (b"", b""),
    "half a PROXY header": (HEADER[:20], b""),
    "PROXY header": (HEADER, b""),
    "half a ClientHello": (HEADER + HELLO[: len(HELLO) // 2], b""),
    "ClientHello": (HEADER + HELLO, b""),
    "half the second flight": (HEADER + HELLO, b"\x16\3\3\1\0" + bytes(200)),
    "handshake": (HEADER + HELLO, None),
}


class Stalled:
    """Many connections that go as far as a step."""

    def __init__(self, target, step, count):
        self.first, self.second = STEPS[step]
        self.target = target
        self.selector = selectors.DefaultSelector()
        self.open = 0
        self.count = count

    def run(self):
        """Open them all, and return when the broker has closed each; tell how long that took."""
        began = time.monotonic()
        for n in range(self.count):
            self.connect(n)
            self.step(0)
            if n % 100 == 0:
                self.watch()
        while self.open and time.monotonic() < began + WAIT_S:
            self.step(0.05)
            self.watch()
        return round(time.monotonic() - began, 1)

    def left(self, pid):
        """Return how many the broker has; of others the kernel forgot the broker's end, for its backlog was full."""
        held = {(*each.raddr,) for each in psutil.net_connections("tcp") if each.pid == pid}
        return sum(key.fileobj.getsockname() in held for key in self.selector.get_map().values())

    def connect(self, n):
        sock = socket.socket()
        sock.setblocking(False)
        sock.bind((f"127.0.0.{2 + n % 200}", 0))
        if sock.connect_ex(self.target.address) not in {0, errno.EINPROGRESS}:
            raise ConnectionError
        self.open += 1
        self.selector.register(sock, selectors.EVENT_WRITE, self.say_first)

    def step(self, timeout_s):
        for key, _ in self.selector.select(timeout_s):
            try:
                key.data(key.fileobj)
            except (OSError, ssl.SSLError):
                self.end(key.fileobj)

    def say_first(self, sock):
        if self.first:
            sock.send(self.first)
        then = self.listen
        if self.second is None:
            handshake = Handshake()
            sock.send(handshake.answer())
            then = partial(self.shake, handshake)
        self.selector.modify(sock, selectors.EVENT_READ, then)

    def shake(self, handshake, sock):
        octets = sock.recv(65_536)
        if not octets:
            self.end(sock)
            return
        sock.send(handshake.answer(octets))
        # The object is 50 KiB that this process need not have.
        self.selector.modify(sock, selectors.EVENT_READ, self.listen)

    def listen(self, sock):
        if not sock.recv(65_536):
            self.end(sock)
        elif self.second:
            sock.send(self.second)

    def end(self, sock):
        self.selector.unregister(sock)
        sock.close()
        self.open -= 1


def log_in(target):
    """Return an honest connection that is open."""
    peer = Peer(target.address, timeout_s=WAIT_S)
    peer.socket.sendall(HEADER)
    peer.socket = target.contexts[0].wrap_socket(peer.socket, server_hostname="localhost")
    return peer.open()


class Honest(threading.Thread):
    """Logs in again and again; `took_s` has how long each took, `refused` what went wrong."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target = target
        self.stopping = threading.Event()
        self.took_s, self.refused = [], []

    def run(self):
        while not self.stopping.is_set():
            began = time.monotonic()
            try:
                log_in(self.target).close()
            except (OSError, ClosedError) as error:
                self.refused.append(str(error) or type(error).__name__)
            self.took_s.append(time.monotonic() - began)


class Pings(threading.Thread):
    """Asks on a connection that stands; `took_s` has how long each answer took."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.peer = log_in(target)
        self.stopping = threading.Event()
        self.took_s = []

    def run(self):
        while not self.stopping.is_set():
            began = time.monotonic()
            self.peer.call(commands.Channel.Flow(active=True), commands.Channel.FlowOk)
            self.took_s.append(time.monotonic() - began)
            time.sleep(PING_S)
        self.peer.close()


def measure(broker, target, step, count):
    """Return the figures of one step."""
    process = psutil.Process(broker.pid)
    log_in(target).close()
    before_octets, log_octets = process.memory_info().rss, len(broker.log)
    stalled, others = Stalled(target, step, count), [Honest(target), Pings(target)]
    peak = []
    stalled.watch = lambda: peak.append(process.memory_info().rss)
    for each in others:
        each.start()
    took_s = stalled.run()
    left = stalled.left(broker.pid)
    for each in others:
        each.stopping.set()
        each.join()
    honest, pings = others
    time.sleep(5)  # what is free is given back after a second or two
    return {
        "closed_after_s": took_s,
        "left_open": left,
        "forgotten_by_kernel": stalled.open - left,
        "grown_mib": round((max(peak) - before_octets) / (1 << 20), 1),
        "kept_mib": round((process.memory_info().rss - before_octets) / (1 << 20), 1),
        "honest": len(honest.took_s),
        "honest_refused": len(honest.refused),
        "honest_worst_s": round(max(honest.took_s), 2),
        "honest_median_s": round(statistics.median(honest.took_s), 3),
        "ping_p99_ms": round(1e3 * statistics.quantiles(pings.took_s, n=100)[98], 1),
        "ping_worst_ms": round(1e3 * max(pings.took_s), 1),
        "log_lines": broker.log[log_octets:].count("\n"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", help=", ".join(STEPS))
    parser.add_argument("--count", type=int, default=8_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        made = make_certificates(Path(folder))
        config = CONFIG.format(certificate=made.server.certificate, key=made.server.key)
        broker = BrokerProcess(Path(folder), config=config)
        try:
            target = Target(
                ("127.0.0.1", broker.tls_port), (ssl.create_default_context(cafile=made.authority.certificate),)
            )
            steps = {step: measure(broker, target, step, options.count) for step in options.steps or STEPS}
        finally:
            broker.stop()
    figures = {"version": VERSION, "cores": os.cpu_count(), "count": options.count, "steps": steps}
    text = json.dumps(figures)
    if options.json:
        options.json.write_text(text + "\n")
    print(text)
    missed = [
        step
        for step, found in steps.items()
        if found["left_open"] or found["honest_refused"] or found["grown_mib"] > GROWTH_MIB_MAX
    ]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
