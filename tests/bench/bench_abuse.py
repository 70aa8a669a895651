"""The worst delay that a bystander sees while somebody else abuses the broker, abuse by abuse.

usage: python -m tests.bench.bench_abuse --port N [--pid N] [--ctl "COMMAND"] [--scale X] [--json FILE] [NAME ...]
       python -m tests.bench.bench_abuse --table FILE FILE ...        (--list names the abuses)

The broker runs already, with user guest and no limits in the way. The bystander is a process of its own with one
connection: it publishes and consumes 200 messages a second, from a second before the abuse to a second after it, and
measures each: how long it took, and with `--pid` how much CPU time the broker had meanwhile, which other work on the
machine changes less. COMMAND is pybrokerctl or rabbitmqctl with its options; abuses that need one are left out without
it. An abuse that the broker refuses is told so. Nothing else may be at work: `jitter` is what the bystander was late
by itself. `--table` prints what several runs wrote side by side, in Markdown.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import select
import shlex
import socket
import struct
import subprocess
import time
from pathlib import Path

from pamqp import commands, frame as frames, header

RATE_S = 0.005
HEADER = b"AMQP\0\0\x09\x01"
ABUSES = {}
Basic, Channel, Connection, Exchange, Queue = (
    getattr(commands, name) for name in ("Basic", "Channel", "Connection", "Exchange", "Queue")
)


def octets(*methods, channel=1):
    return b"".join(frames.marshal(method, channel) for method in methods)


def publish(exchange, key, body=b"x", *, mandatory=False, **properties):
    head = header.ContentHeader(0, len(body), commands.Basic.Properties(**{"delivery_mode": 1, **properties}))
    content = frames.marshal(head, 1) + b"\x03\x00\x01" + len(body).to_bytes(4) + body + b"\xce"
    return octets(Basic.Publish(exchange=exchange, routing_key=key, mandatory=mandatory)) + content


def abuse(function):
    """Have a function be one of the abuses; its docstring tells what it does."""
    ABUSES[function.__name__] = function
    return function


def bind(queue, exchange, key="", **arguments):
    arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
    return octets(Queue.Bind(queue=queue, exchange=exchange, routing_key=key, nowait=True, arguments=arguments))


class Refused(Exception):
    """The broker closed the channel or the connection."""


class Client:
    """One connection with `channels` open, reading only when asked to."""

    def __init__(self, port, user="guest", password="guest", vhost="/", channels=1):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=300)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.sock.sendall(HEADER)
        self.wait(Connection.Start)
        capabilities = {"capabilities": {"consumer_cancel_notify": True, "authentication_failure_close": True}}
        self.sock.sendall(octets(Connection.StartOk(capabilities, "PLAIN", f"\0{user}\0{password}"), channel=0))
        tune = self.wait(Connection.Tune)
        self.sock.sendall(octets(Connection.TuneOk(tune.channel_max, tune.frame_max, 0), channel=0))
        self.sock.sendall(octets(Connection.Open(vhost), channel=0))
        self.wait(Connection.OpenOk)
        self.send(b"".join(octets(Channel.Open(), channel=n) for n in range(1, channels + 1)))
        for _ in range(channels):
            self.wait(Channel.OpenOk)

    def send(self, data):
        for at in range(0, len(data), 1 << 20):
            self.sock.sendall(data[at : at + (1 << 20)])

    def frame(self, timeout_s=300.0):
        """Return the next frame as (type, channel, payload); None when nothing came in time."""
        while True:
            if len(self.buffer) >= 7:
                kind, channel, size = struct.unpack_from(">BHI", self.buffer)
                if len(self.buffer) >= size + 8:
                    payload = bytes(self.buffer[7 : 7 + size])
                    del self.buffer[: size + 8]
                    return kind, channel, payload
            if not select.select([self.sock], [], [], max(0.0, timeout_s))[0]:
                return None
            data = self.sock.recv(1 << 18)
            if not data:
                raise Refused("the connection is gone")
            self.buffer += data

    def wait(self, *methods):
        """Read on to one of these methods; return it. Raises Refused."""
        wanted = {method.index for method in methods}
        while True:
            got = self.frame()
            if got is None:
                raise TimeoutError(methods)
            kind, channel, payload = got
            if kind != 1:
                continue
            index = int.from_bytes(payload[:4])
            if index in wanted or index in (Connection.Close.index, Channel.Close.index):
                whole = b"\x01" + channel.to_bytes(2) + len(payload).to_bytes(4) + payload + b"\xce"
                method = frames.unmarshal(whole)[2]
                if index not in wanted:
                    raise Refused(method.reply_text)
                return method

    def call(self, method, reply, channel=1):
        self.send(octets(method, channel=channel))
        return self.wait(reply)

    def sync(self):
        """Return when all that was sent is done."""
        self.call(Basic.Qos(), Basic.QosOk)

    def declare(self, queue, **options):
        return self.call(Queue.Declare(queue=queue, **options), Queue.DeclareOk)

    def exchange(self, name, kind, **options):
        self.call(Exchange.Declare(exchange=name, exchange_type=kind, **options), Exchange.DeclareOk)

    def many(self, count, make):
        """Send what `make` returns for each number, some thousand at a time, and wait until all is done."""
        for at in range(0, count, 2_000):
            self.send(b"".join(make(i) for i in range(at, min(count, at + 2_000))))
        self.sync()

    def swallow(self, count):
        """Read until `count` deliveries have begun."""
        seen, last = 0, b""
        while seen < count:
            data = self.sock.recv(1 << 20)
            if not data:
                raise Refused("the connection is gone")
            data = last + data
            seen += data.count(b"\0\x3c\0\x3c") - last.count(b"\0\x3c\0\x3c")
            last = data[-3:]
        time.sleep(0.3)
        self.sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while self.sock.recv(1 << 20):
                pass
        self.sock.setblocking(True)
        self.buffer.clear()

    def vanish(self):
        self.sock.close()


def bystander(port, pid, stop, out):
    """Publish and consume 200 messages a second until told to stop; send what was seen, in milliseconds."""
    # The CPU clock of another process: its number, inverted, above the kind of clock.
    cpu_clock = (~pid << 3) | 2 if pid else time.CLOCK_PROCESS_CPUTIME_ID
    with contextlib.suppress(OSError):
        # If this is permitted, other processes delay it less often.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    client = Client(port)
    queue = client.declare("", exclusive=True).queue
    client.call(Basic.Consume(queue=queue, no_ack=True), Basic.ConsumeOk)
    delays, cpu_delays, jitter, sent, due = [], [], 0.0, 0, time.monotonic()
    while not stop.is_set() or (len(delays) < sent and time.monotonic() < due + 60):
        now = time.monotonic()
        if now >= due and not stop.is_set():
            jitter = max(jitter, now - due)
            client.send(publish("", queue, struct.pack(">dd", now, time.clock_gettime(cpu_clock))))
            sent += 1
            due = max(due + RATE_S, now - 0.05)
        while got := client.frame(max(0.0, min(due - time.monotonic(), 0.1))):
            if got[0] == 3:
                sent_s, sent_cpu_s = struct.unpack(">dd", got[2])
                delays.append(time.monotonic() - sent_s)
                cpu_delays.append(time.clock_gettime(cpu_clock) - sent_cpu_s)
            if time.monotonic() >= due:
                break
    delays.sort()
    found = {"worst_ms": delays[-1], "p99_ms": delays[int(len(delays) * 0.99)], "jitter_ms": jitter}
    if pid:
        found["worst_cpu_ms"] = max(cpu_delays)
    out.put({name: round(1e3 * value, 1) for name, value in found.items()})


class Field:
    """The scene of an abuse: the broker's port, its control program, and how much of everything."""

    def __init__(self, port, pid, ctl, scale):
        self.port, self.pid, self.command, self.scale = port, pid, ctl, scale
        self.clients = []

    def client(self, **options):
        self.clients.append(Client(self.port, **options))
        return self.clients[-1]

    def n(self, count):
        return max(1, int(count * self.scale))

    def ctl(self, *arguments):
        subprocess.run([*self.command, *arguments], check=True, capture_output=True, timeout=600)


def measure(field, abuse):
    """Return what the bystander saw of one abuse."""
    stop, out = multiprocessing.Event(), multiprocessing.Queue()
    process = multiprocessing.Process(target=bystander, args=(field.port, field.pid, stop, out), daemon=True)
    process.start()
    time.sleep(1.0)
    began_s = time.monotonic()
    outcome = "done"
    try:
        abuse(field)
    except (Refused, TimeoutError, OSError) as error:
        outcome = f"refused: {error}"
    took_s = time.monotonic() - began_s
    time.sleep(1.0)
    for client in field.clients:
        client.vanish()
    field.clients.clear()
    time.sleep(1.0)
    stop.set()
    found = out.get(timeout=120)
    process.join()
    return {**found, "secs": round(took_s, 1), "outcome": outcome}


def table(paths):
    """Print the worst delays of several runs side by side."""
    runs = [json.loads(Path(path).read_text()) for path in paths]
    print("| abuse |", " | ".join(f"{run['broker']}: worst ms (p99)" for run in runs), "|")
    print("|---|" + "---:|" * len(runs))
    for name in dict.fromkeys(name for run in runs for name in run["abuses"]):
        cells = []
        for run in runs:
            row = run["abuses"].get(name)
            text = "-" if row is None else f"{row['worst_ms']:.0f} ({row['p99_ms']:.0f})"
            cells.append(text + (" refused" if row is not None and row["outcome"] != "done" else ""))
        print(f"| {name}: {ABUSES[name].__doc__.rstrip('.')} |", " | ".join(cells), "|")


def main():
    from tests.bench import (
        abuse_topology,  # noqa: F401 - they fill ABUSES
        abuse_traffic,  # noqa: F401
    )

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--port", type=int)
    parser.add_argument("--pid", type=int, default=0)
    parser.add_argument("--ctl", type=shlex.split, default=[])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--broker", default="pybroker")
    parser.add_argument("--json")
    parser.add_argument("--table", nargs="+")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    if given.list:
        print("\n".join(f"{name}: {abuse.__doc__}" for name, abuse in ABUSES.items()))
        return
    if given.table:
        table(given.table)
        return
    found = {}
    for name in given.names or ABUSES:
        if name.startswith("ctl_") and not given.ctl:
            continue
        found[name] = measure(Field(given.port, given.pid, given.ctl, given.scale), ABUSES[name])
        print(name, json.dumps(found[name]), flush=True)
        if given.json:
            Path(given.json).write_text(json.dumps({"broker": given.broker, "abuses": found}, indent=1) + "\n")


if __name__ == "__main__":
    from tests.bench import bench_abuse  # noqa: PLW0406 - the abuses import it by that name

    bench_abuse.main()
