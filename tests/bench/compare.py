#!/usr/bin/env python3
"""Interleaved comparison of brokers under amqpload and streamload: every round runs every workload on every broker.

usage: compare.py [--rounds N] [--secs N] [--only a-drop,...] [--before COMMAND] [--json FILE]
                  LABEL=PORT:PID[:tls|:STREAM_PORT] ...
       compare.py --list

The first broker named is the base of the ratios. PID is the broker's process: CPU and memory are those of it and all
its descendants. Rates depend on the machine's mood: quote the ratios, and the messages per broker CPU second.
The JSON file begins with one line about the machine and the versions the brokers tell; then one line a run.
Needs amqpload built beside it:  gcc -O2 -Wall -o amqpload amqpload.c -lpthread; for brokers with `:tls` with its TLS;
for STREAM_PORT, where the stream protocol is spoken, streamload:  gcc -O2 -Wall -o streamload streamload.c
"""

import argparse
import json
import os
import platform
import re
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

WORKLOADS = {
    "a-drop": "-x1 -y0 --fanout --queues 0",
    "b-16": "-x1 -y1 -a -s16",
    "b-16-uniq": "-x1 -y1 -a -s16 --unique",
    "b-16-vary": "-x1 -y1 -a -s16 --vary",
    "b-200-mix": "-x1 -y1 -a -s200 --vary --unique --headers",
    "b-1k": "-x1 -y1 -a -s1024",
    "b-1k-mix": "-x1 -y1 -a -s1024 --vary --unique --headers",
    "b-16k": "-x1 -y1 -a -s16384",
    "b-128k": "-x1 -y1 -a -s131072",
    "c-q100-A10": "-x1 -y1 -q100 -A10",
    "c-q100-A1": "-x1 -y1 -q100 -A1",
    "c-q1000-A10": "-x1 -y1 -q1000 -A10",
    "c-q1000-A1": "-x1 -y1 -q1000 -A1",
    "d-c1": "-x1 -y0 -f -c1",
    "d-c100": "-x1 -y0 -f -c100",
    "d-c1000": "-x1 -y0 -f -c1000",
    "d-c100-cons": "-x1 -y1 -f -c100 -q100 -A10",
    "d-c1000-cons": "-x1 -y1 -f -c1000 -q1000 -A10",
    "d-c1000-1k": "-x1 -y0 -f -c1000 -s1024",
    "d-x10-c100": "-x10 -y0 -f -c100 --queues 10",
    "e-fan10": "-x1 -y10 -a --fanout --queues 10",
    "e-fan10-1k": "-x1 -y10 -a --fanout --queues 10 -s1024",
    "f-topic": "-x1 -y10 -a -t topic --queues 10 --bindings 1000 --bind k.%d.* -k k.%d.x --rkeys 1000",
    "g-10x10": "-x10 -y10 -a --queues 10",
    "i-1k": "-x1 -y1 -a --rate 1000",
    "i-5k": "-x1 -y1 -a --rate 5000",
    "i-20k": "-x1 -y1 -a --rate 20000",
    "j-conn": "--mode conn -x4",
    "j-chan": "--mode chan -x4",
    "j-queue": "--mode queue -x4",
    "r-in-16": "-x1 -y0 -c1000 --stream",
    "r-in-1k": "-x1 -y0 -c1000 --stream -s1024",
    "r-16": "-x1 -y1 -c1000 -q1000 -A100 --stream",
    "r-1k": "-x1 -y1 -c1000 -q1000 -A100 --stream -s1024",
    "r-10-readers": "-x1 -y10 -c1000 -q1000 -A100 --stream",
    "s-c1": "-x1 -y1 -a -c1",
    "s-c10": "-x1 -y1 -a -c10",
    "s-c100": "-x1 -y1 -a -c100",
    "s-q1": "-x1 -y1 -q1 -A1",
    "s-50x50": "-x50 -y50 -q10 -A1 -c10 --queues 50",
}
# Through the stream protocol; run for the brokers whose port of it was given.
STREAM_WORKLOADS = {
    "p-in-10": "-x1 -s10",
    "p-in-100": "-x1 -s100",
    "p-in-1k": "-x1 -s1000",
    "p-in-c1": "-x1 -s100 -c1",
    "p-first-10": "-y1 -s10 --fill 4000000",
    "p-first-100": "-y1 -s100 --fill 2000000",
    "p-first-10-readers": "-y10 -s100 --fill 2000000",
    "p-100": "-x1 -y1 -s100",
    "i-p-10k": "-x1 -y1 -s100 --rate 10000",
    "i-p-1000-streams": "--streams 1000 -x1000 --per-connection 100 -s100 --rate 10000",
}
AMQPLOAD = Path(__file__).with_name("amqpload")
STREAMLOAD = Path(__file__).with_name("streamload")


def server_properties(port):
    """Return what the broker says of itself in connection.start, the text properties only."""
    with socket.create_connection(("127.0.0.1", int(port)), timeout=10) as peer:
        peer.sendall(b"AMQP\0\0\x09\x01")
        start = b""
        while len(start) < 7 or len(start) < 8 + int.from_bytes(start[3:7]):
            received = peer.recv(65536)
            if not received:
                break
            start += received
    told = {}
    for name in ("product", "version", "platform", "pybroker_version"):
        found = re.search(bytes([len(name)]) + name.encode() + b"S(....)", start, re.DOTALL)
        if found:
            told[name] = start[found.end() : found.end() + int.from_bytes(found[1])].decode()
    return told


def machine():
    """Return the facts about the machine that a reader of the figures needs."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu": model[1] if model else platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "congestion_control": Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip(),
        "python": platform.python_version(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def cpu_ticks(pid):
    """Return the clock ticks the process itself has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def wait_idle(pid):
    """Wait until the broker has digested the last run, ten seconds at most."""
    for _ in range(50):
        before = cpu_ticks(pid)
        time.sleep(0.2)
        if cpu_ticks(pid) - before < 3:
            return


def run(program, port, pid, secs, arguments):
    """Run amqpload or streamload once and return its line, or {"error": text}."""
    command = [str(program), "--port", port, "--pid", pid, "-z", str(secs), *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=secs + 120, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr.strip() or f"exit {done.returncode}"}


def rate(result):
    """Return the figure that counts: consumed, else confirmed, else published a second."""
    if result.get("mode") not in {"pubsub", "stream"}:
        return result.get("rate", 0)
    return result["cons_rate"] if result["y"] else result["conf_rate"] or result["pub_rate"]


def per_cpu_second(result):
    """Return the messages per second of the broker's CPU time."""
    busy = result.get("broker_cpu_s") or 0
    return rate(result) * result["seconds"] / busy if busy else 0


def median(results, workload, label, figure):
    """Return the median of a figure over the rounds, 0 when every round failed."""
    runs = [r for r in results if r["workload"] == workload and r["label"] == label and "error" not in r]
    return statistics.median([figure(r) for r in runs] or [0])


def table(title, results, labels, figure):
    """Print one Markdown table; the ratios are to the first label."""
    print(f"\n{title}")
    print("| workload | " + " | ".join(labels) + " |")
    print("|---|" + "---:|" * len(labels))
    for workload in dict.fromkeys(r["workload"] for r in results if not r["workload"].startswith("i-")):
        values = [median(results, workload, label, figure) for label in labels]
        base = values[0]
        cells = [f"{v:,.0f}" + (f" ({v / base:.2f}x)" if base and i else "") for i, v in enumerate(values)]
        print(f"| {workload} | " + " | ".join(cells) + " |")


def latency_table(results, labels):
    """Print the latencies of the workloads with a fixed rate, if any ran."""
    workloads = [w for w in dict.fromkeys(r["workload"] for r in results) if w.startswith("i-")]
    if not workloads:
        return
    print("\nlatency in us, p50/p95/p99/p99.9, and broker CPU")
    print("| workload | " + " | ".join(labels) + " |")
    print("|---|" + "---:|" * len(labels))
    for workload in workloads:
        cells = []
        for label in labels:
            rows = [r for r in results if r["workload"] == workload and r["label"] == label and "lat_us" in r]
            if not rows:
                cells.append("-")
                continue
            medians = [statistics.median(r["lat_us"][k] for r in rows) for k in ("p50", "p95", "p99", "p999")]
            figures = "/".join(f"{m:.0f}" for m in medians)
            cells.append(f"{figures} {statistics.median(r['broker_cpu_pct'] for r in rows):.0f}%")
        print(f"| {workload} | " + " | ".join(cells) + " |")


def parse_options():
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--secs", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--before", help="what the shell runs before each run, e.g. to fill the file cache")
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("broker", nargs="*", help="LABEL=PORT:PID[:tls|:STREAM_PORT]")
    return parser.parse_args()


def run_rounds(options, brokers):
    """Run every workload on every broker, round after round, and return the result lines."""
    results = []
    for round_number in range(options.rounds):
        for workload in options.only.split(",") if options.only else WORKLOADS | STREAM_WORKLOADS:
            for label, port, pid, *more in brokers:
                if options.before:
                    subprocess.run(options.before, shell=True, check=True)
                if workload in STREAM_WORKLOADS:
                    if not more or more == ["tls"]:
                        continue
                    result = run(STREAMLOAD, more[0], pid, options.secs, STREAM_WORKLOADS[workload])
                else:
                    result = run(AMQPLOAD, port, pid, options.secs, WORKLOADS[workload] + " --tls" * (more == ["tls"]))
                result.update(label=label, workload=workload, round=round_number)
                results.append(result)
                if "error" in result:
                    print(f"{label} {workload}: {result['error']}", file=sys.stderr)
                wait_idle(pid)
    return results


def main():
    """Compare, print the tables and return the exit status: 1 when a run failed."""
    options = parse_options()
    if options.list:
        for name, arguments in (WORKLOADS | STREAM_WORKLOADS).items():
            print(f"{name:14} {arguments}")
        return 0
    brokers = [(b.split("=")[0], *b.split("=")[1].split(":")) for b in options.broker]
    plain = [broker for broker in brokers if "tls" not in broker]
    head = {"machine": machine(), "brokers": {label: server_properties(port) for label, port, *_ in plain}}
    results = run_rounds(options, brokers)
    if options.json:
        Path(options.json).write_text("".join(json.dumps(line) + "\n" for line in [head, *results]))
    labels = [b[0] for b in brokers]
    table("messages per second (median)", results, labels, rate)
    table("messages per broker CPU second (median)", results, labels, per_cpu_second)
    latency_table(results, labels)
    return 1 if any("error" in r for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
