"""The cost of telemetry: CPU of a broker some of whose queues, and their connections, have something to report.

    python -m tests.bench.bench_telemetry [--queues 500] [--moving 500] [--connections 50] [--samples 60]

The process's own CPU time, of rows, thread and files together, as a part of one core at an interval of ten seconds.
"""

import argparse
import tempfile
import time
from pathlib import Path

from pybroker.daemon.telemetry.telemetry import Telemetry
from tests.fakes import World

INTERVAL_S = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queues", type=int, default=500)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--moving", type=int, default=500)
    parser.add_argument("--samples", type=int, default=60)
    given = parser.parse_args()
    world = World()
    peers = [world.connect() for _ in range(given.connections)]
    for n in range(given.queues):
        peers[0].declare(f"queue-{n}", durable=True)
    spent_s = 0.0
    with tempfile.TemporaryDirectory() as folder:
        telemetry = Telemetry(world.broker, Path(folder), INTERVAL_S * 1000, 7)
        for _ in range(given.samples):
            for n in range(given.moving):
                peers[n % len(peers)].publish("", f"queue-{n}", b"x")
            world.advance(INTERVAL_S * 1000)
            before_s = time.process_time()
            telemetry.sample()
            while telemetry._writer.rows_waiting:
                time.sleep(0.01)
            spent_s += time.process_time() - before_s
        telemetry._writer.stop()
        octets = sum(path.stat().st_size for path in Path(folder).rglob("*.ndjson"))
    each_ms = spent_s / given.samples * 1000
    rows = telemetry.figures["rows"] / given.samples
    print(
        f"{given.queues} queues, {given.connections} connections: {rows:.0f} rows, {octets / given.samples:.0f} octets"
    )
    print(f"{each_ms:.2f} ms of CPU each, {each_ms / INTERVAL_S / 10:.3f} % of one core every {INTERVAL_S} s")


if __name__ == "__main__":
    main()
