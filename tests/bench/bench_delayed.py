"""A million delayed messages: accepted, found again after kill -9, released; how long, how much memory, which stalls.

    python tests/bench/bench_delayed.py [--messages 1000000] [--size 100] [--spread 60] [--transient]

A stall is what a second connection waits for the answer to a declare, asked every five milliseconds.
"""

import argparse
import multiprocessing
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from pamqp import commands, frame

HERE = Path(__file__).resolve().parent
# The daemon, with a line for each turn of its loop of more than 5 ms of CPU: that is what it costs the others, however
# busy the machine is.
LAUNCHER = """
import runpy, sys, time, gevent
told = open(sys.argv.pop(1), "a", buffering=1)
loop, began = gevent.get_hub().loop, [0.0]
def check(): began[0] = time.thread_time()
def prepare():
    ms = (time.thread_time() - began[0]) * 1e3
    if began[0] and ms > 5: told.write(f"{ms}\\n")
watchers = loop.check(), loop.prepare()
watchers[0].start(check)
watchers[1].start(prepare)
sys.argv[0] = "pybroker"
runpy.run_module("pybroker.daemon", run_name="__main__")
"""


class Peer:
    """A connection with channel 1 open, over a plain socket."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.octets = b""
        self.socket.sendall(b"AMQP\0\0\x09\x01")
        self.read()
        self.call(commands.Connection.StartOk({}, "PLAIN", "\0guest\0guest"), 0)
        self.send(commands.Connection.TuneOk(2047, 131072, 0), 0)
        self.call(commands.Connection.Open("/"), 0)
        self.call(commands.Channel.Open())

    def send(self, method, channel=1) -> None:
        self.socket.sendall(frame.marshal(method, channel))

    def read(self):
        while True:
            if len(self.octets) >= 7:
                end = 8 + int.from_bytes(self.octets[3:7])
                if len(self.octets) >= end:
                    _, _, value = frame.unmarshal(self.octets[:end])
                    self.octets = self.octets[end:]
                    return value
            more = self.socket.recv(262_144)
            if not more:
                raise ConnectionError("closed")
            self.octets += more

    def call(self, method, channel=1):
        self.send(method, channel)
        return self.read()


class Prober:
    """A process that asks every five milliseconds, and says what it waited."""

    def __init__(self, port: int) -> None:
        self.told_from, to = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=probe, args=(port, to), daemon=True)
        self.process.start()

    def told(self) -> str:
        """Return what it waited since this was asked last."""
        self.told_from.send(None)
        waits = sorted(self.told_from.recv())
        if not waits:
            return "no answer"
        p99 = waits[int(len(waits) * 0.99)]
        slow = sum(each > 0.05 for each in waits)
        return f"stalls p99 {p99 * 1e3:.0f} ms, worst {waits[-1] * 1e3:.0f} ms, {slow} of {len(waits)} above 50 ms"

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def probe(port: int, to) -> None:
    peer = Peer(port)
    peer.call(commands.Queue.Declare(queue="probe"))
    waits: list[float] = []
    while True:
        start = time.monotonic()
        peer.call(commands.Queue.Declare(queue="probe", passive=True))
        waits.append(time.monotonic() - start)
        time.sleep(0.005)
        if to.poll():
            to.recv()
            to.send(waits)
            waits.clear()


class Daemon:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = [sys.executable, "-c", LAUNCHER, str(folder / "turns"), "--port", "0", "--bind", "127.0.0.1"]
        command += [
            "--node",
            "b@here",
            "--data-dir",
            str(folder / "data"),
            "--socket",
            str(folder / "s"),
            "--config",
            os.devnull,
        ]
        start = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = 0
        for line in self.process.stdout:
            if line.startswith("AMQP listener"):
                self.port = int(line.rpartition(":")[2])
            if line.startswith("next"):
                break
        self.start_s = time.monotonic() - start

    def ctl(self, *words: str) -> str:
        command = [sys.executable, "-m", "pybrokerctl", "--socket", str(self.folder / "s"), "-q", *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.stdout

    def turns(self) -> str:
        """Return what its longest turns cost since this was asked last."""
        path = self.folder / "turns"
        longest = sorted(map(float, path.read_text().split()))[-3:]
        with path.open("w"):
            pass
        return f"longest turns {' '.join(f'{ms:.0f}' for ms in longest)} ms of CPU" if longest else "no long turn"

    @property
    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def rss_mb(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def messages(count: int, size: int, due: float, spread_s: float, persistent: bool):
    """Yield chunks of publishes whose delays end at `due` and up to `spread_s` later."""
    rng = random.Random(1)
    method = frame.marshal(commands.Basic.Publish(exchange="later", routing_key="k"), 1)
    body = b"\x03\0\x01" + struct.pack(">I", size) + b"x" * size + b"\xce"
    mode = b"\x02" if persistent else b"\x01"
    for at in range(0, count, 256):
        parts = []
        for _ in range(min(256, count - at)):
            delay = int((due - time.monotonic() + rng.random() * spread_s) * 1000)
            table = b"\x07x-delayl" + struct.pack(">q", delay)
            props = b"\x30\0" + struct.pack(">I", len(table)) + table + mode
            head = struct.pack(">HHQ", 60, 0, size) + props
            parts += [method, b"\x02\0\x01" + struct.pack(">I", len(head)) + head + b"\xce", body]
        yield b"".join(parts)


def delayed(peer: Peer) -> int:
    return peer.call(commands.Queue.Declare(queue="q", passive=True)).message_count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--spread", type=float, default=60.0)
    parser.add_argument("--after", type=float, default=0.0, help="seconds until the first is due; 0: measured")
    parser.add_argument("--transient", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(Path(folder))
        try:
            run(given, daemon, Path(folder))
        finally:
            daemon.process.kill()


def tell(what: str, daemon: Daemon, prober: Prober | None, cpu_s: float = 0.0) -> None:
    waited = f"; {prober.told()}" if prober else ""
    print(f"{what}; {daemon.cpu_s - cpu_s:.1f} s of CPU{waited}; {daemon.turns()}; {daemon.rss_mb:.0f} MB", flush=True)


def run(given, daemon: Daemon, folder: Path) -> None:
    peer = Peer(daemon.port)
    arguments = {"x-delayed-type": "direct"}
    later = commands.Exchange.Declare(exchange="later", exchange_type="x-delayed-message", durable=True)
    later.arguments = arguments
    peer.call(later)
    peer.call(commands.Queue.Declare(queue="q", durable=True))
    peer.call(commands.Queue.Bind(queue="q", exchange="later", routing_key="k"))
    peer.call(commands.Confirm.Select())
    prober = Prober(daemon.port)
    n = given.messages
    time.sleep(2)
    tell(f"idle, load {os.getloadavg()[0]:.1f}", daemon, prober)
    cpu_s, start = daemon.cpu_s, time.monotonic()
    due = start + (given.after or n / 8_000 + 60)
    reader = threading.Thread(target=confirmed, args=(peer, n), daemon=True)
    reader.start()
    for chunk in messages(n, given.size, due, given.spread, not given.transient):
        peer.socket.sendall(chunk)
    reader.join()
    tell(f"accepted {n} in {time.monotonic() - start:.1f} s", daemon, prober, cpu_s)
    prober.stop()
    if not given.transient:
        daemon.process.kill()
        daemon.process.wait()
        start = time.monotonic()
        again = Daemon(folder)
        daemon.process, daemon.port = again.process, again.port
        tell(f"started after kill -9 in {again.start_s:.1f} s", daemon, None)
        prober = Prober(again.port)
        while "being read" in again.ctl("cancel_scheduled", "later", "0", "--dry-run"):
            time.sleep(0.5)
        tell(f"knows what is due when after {time.monotonic() - start:.1f} s", daemon, prober)
        prober.stop()
    peer = Peer(daemon.port)
    prober = Prober(daemon.port)
    cpu_s = daemon.cpu_s
    time.sleep(max(0.0, due - time.monotonic()))
    tell("waited", daemon, prober, cpu_s)
    cpu_s, start = daemon.cpu_s, time.monotonic()
    while (done := delayed(peer)) < n and time.monotonic() - start < 10 * given.spread + 60:
        time.sleep(0.2)
    tell(f"released {done} in {time.monotonic() - start:.1f} s, due over {given.spread:.0f} s", daemon, prober, cpu_s)
    prober.stop()


def confirmed(peer: Peer, count: int) -> None:
    done = 0
    while done < count:
        ack = peer.read()
        done = ack.delivery_tag if ack.multiple else done + 1


if __name__ == "__main__":
    main()
