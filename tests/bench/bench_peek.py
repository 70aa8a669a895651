"""The time of a peek into a very long queue on disk, and its cost to a consumer of that queue and to everybody else.

usage: python -m tests.bench.bench_peek [--messages N] [--folder F] [--rounds N] [--secs N] [--rate N]

Starts a daemon of its own, fills a queue of N persistent messages, and starts again, so that all of it is on disk. Then
`peek_messages --count 1000` is run from the head, the tail and the middle. A consumer drains the queue, a second at a
time, alone and with peeks in turn; so do 10,000 messages a second through another queue, for their p99. With --folder
the queue is kept there, and used again. Prints one JSON line; exit status 1 when a bound is missed: 0.5 s for a peek,
0.95 of the consumer's pace, 1.1 of the p99. Needs amqpload built beside it, as bench_control does. On a machine that
others use too, `chrt -r 1` in front of it.
"""

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from pybroker.control import codec
from tests.ctl.live_node import LiveNode

AMQPLOAD = Path(__file__).with_name("amqpload")
PEEK_S_MAX = 0.5
PACE_MIN = 0.95
P99_MAX = 1.1
COUNT = 1_000
QUEUE = "big"


def load(node, words):
    """Run amqpload to its end; return what it prints."""
    command = [str(AMQPLOAD), "--port", str(node.port), "--pid", str(node.process.pid), *words.split()]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def peek(node, start):
    """Return the seconds that one peek took, all of it."""
    begin = time.monotonic()
    done = node.ctl("peek_messages", QUEUE, "--count", str(COUNT), "--from", start, "--format", "ndjson")
    assert (done.returncode, done.stdout.count("\n")) == (0, COUNT), done.stderr
    return time.monotonic() - begin


class Peeks(threading.Thread):
    """A peek every so many seconds, somewhere in the queue, until it is told to end."""

    def __init__(self, node, messages, every_s):
        super().__init__()
        self.node, self.messages, self.every_s = node, messages, every_s
        self.ended = threading.Event()
        self.count = 0
        self.start()

    def run(self):
        places = ["head", "tail", str(self.messages // 2), str(self.messages * 9 // 10)]
        # By the control socket: a program that starts each second would take more of the machine than the peek.
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.node.socket))
            lines = control.makefile("rb")
            assert b"protocol" in lines.readline()
            while not self.ended.wait(self.every_s):
                given = {"queue": QUEUE, "number": COUNT, "start": places[self.count % len(places)]}
                control.sendall(codec.encode_request("peek_messages", given))
                while b'{"end"' not in (line := lines.readline()):
                    assert b'"error"' not in line[:9], line
                self.count += 1

    def end(self):
        """Let the last one end; return how many there were."""
        self.ended.set()
        self.join()
        return self.count


def p99_of(found):
    return found["lat_us"]["p99"]


def pace_of(found):
    return found["cons_rate"]


def compare(node, options, words, figure):
    """Return the medians of a figure alone and beside peeks, which take turns, and how many peeks there were."""
    alone, beside, peeks = [], [], 0
    for _ in range(options.rounds):
        alone.append(figure(load(node, words)))
        peeking = Peeks(node, options.messages, options.every)
        beside.append(figure(load(node, words)))
        peeks += peeking.end()
    return statistics.median(alone), statistics.median(beside), peeks


def measure(node, options):
    """Return the figures."""
    peeks = {
        name: round(statistics.median(peek(node, start) for _ in range(3)), 3)
        for name, start in (("head", "head"), ("tail", "tail"), ("middle", str(options.messages // 2)))
    }
    start_s = time.monotonic()
    node.ctl("list_queues", "-q")
    call_s = time.monotonic() - start_s
    latency = compare(node, options, f"-x1 -y1 -a -s16 --rate {options.rate} -z {options.secs} --warmup 1", p99_of)
    pace = compare(node, options, f"-x0 -y1 -q 500 -A 50 -u {QUEUE} --no-declare --keep --warmup 0 -z 1", pace_of)
    if not int(node.ctl("list_queues", "-q", "--no-table-headers", "messages").stdout):
        sys.exit("the queue ran out of messages, so its pace means nothing: give more of them, or fewer rounds")
    return {
        "messages": options.messages,
        "peek_s": peeks,
        "list_queues_s": round(call_s, 3),
        "p99_us": latency,
        "p99_ratio": round(latency[1] / latency[0], 3),
        "consumed_per_s": pace,
        "pace_ratio": round(pace[1] / pace[0], 3),
        "rss_mb": int(Path(f"/proc/{node.process.pid}/status").read_text().split("VmRSS:")[1].split()[0]) // 1024,
    }


def filled(folder, options):
    """Return a node whose queue has all its messages on disk."""
    is_new = not (folder / "data").exists()
    node = LiveNode(folder)
    if is_new:
        load(node, f"-x1 -y0 -f -s32 -c 5000 -u {QUEUE} -z 3600 --pmessages {options.messages} --keep")
        node.end()
        node = LiveNode(folder)
    return node


def main():
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--secs", type=int, default=5)
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--every", type=float, default=1.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="peek") as folder:
        node = filled(options.folder or Path(folder), options)
        try:
            found = measure(node, options)
        finally:
            node.end()
    print(json.dumps(found))
    fine = max(found["peek_s"].values()) < PEEK_S_MAX and found["pace_ratio"] >= PACE_MIN
    return 0 if fine and found["p99_ratio"] <= P99_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
