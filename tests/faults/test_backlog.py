"""Test 14: a long backlog lies on the disk, not in memory; a restart reads what it must; the disk comes back."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.checker import Verdict
from tests.faults.load import declare, ready, wait_until

SOURCE = Path(__file__).parent.parent / "bench" / "amqpload.c"
QUEUE = "backlog"
BODY_OCTETS = 100
RSS_MB_MAX = 300
RESTART_FACTOR_MAX = 10
SETTLE_S = 3.0


@pytest.fixture(scope="module")
def amqpload(tmp_path_factory):
    """Return the load generator, built for this run."""
    if not shutil.which("gcc"):
        pytest.skip("not installed: gcc")
    program = tmp_path_factory.mktemp("bench") / "amqpload"
    subprocess.run(["gcc", "-O2", "-o", program, SOURCE, "-lpthread"], check=True, capture_output=True)
    return program


def load(amqpload, broker, *words):
    """Run amqpload to its end and return its figures."""
    command = [amqpload, "--port", broker.address[1], "-f", "-u", QUEUE, "--keep", "-z", 500, *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rss_mb(broker):
    return round(psutil.Process(broker.process.pid).memory_info().rss / 1e6, 1)


def data_files(broker):
    return [path for path in broker.data.rglob("*") if path.is_file() and "log" not in path.parts[-2:-1]]


def disk_mb(broker):
    return round(sum(path.stat().st_blocks * 512 for path in data_files(broker)) / 1e6, 1)


def forget_cached(broker):
    """Have the kernel forget what it holds of the files, so that the next read is one of the disk."""
    for path in data_files(broker):
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def raw_read_s(broker):
    """Return how long it takes to read all files, from the disk."""
    forget_cached(broker)
    began = time.monotonic()
    for path in data_files(broker):
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    return time.monotonic() - began


def restarted(broker, end, count):
    """End the broker, read its files raw and start it on them; return the figures."""
    getattr(broker, end)()
    raw_s = raw_read_s(broker)
    forget_cached(broker)
    broker.start()
    assert ready(broker.address, QUEUE) == [count]
    start_s = broker.starts_s[-1]
    return {f"{end}_raw_s": round(raw_s, 2), f"{end}_start_s": round(start_s, 2), f"{end}_rss_mb": rss_mb(broker)}


def backlog(amqpload, broker, count, publishers, window):
    """Fill, restart both ways, drain; return the figures."""
    broker.start()
    declare(broker.address, QUEUE)
    empty_mb, empty_disk_mb = rss_mb(broker), disk_mb(broker)
    words = ("-x", publishers, "-y", 0, "-s", BODY_OCTETS, "--pmessages", count // publishers, "-c", window)
    filled = load(amqpload, broker, *words)
    assert filled["confirmed"] == count
    peak_mb = rss_mb(broker)
    time.sleep(SETTLE_S)
    figures = {"publishers": publishers, "empty_mb": empty_mb, "filled_mb": peak_mb, "rss_mb": rss_mb(broker)}
    figures["fill_rate"] = round(filled["conf_rate"])
    figures["disk_mb"] = disk_mb(broker)
    figures |= restarted(broker, "kill", count)
    figures |= restarted(broker, "stop", count)
    drained = load(amqpload, broker, "-x", 0, "-y", 1, "--cmessages", count, "-A", 100, "-q", 2_000)
    assert drained["consumed"] == count
    figures["drain_rate"] = round(drained["cons_rate"])
    assert ready(broker.address, QUEUE) == [0]
    left = empty_disk_mb + max(256, figures["disk_mb"] / 20)
    wait_until(lambda: disk_mb(broker) <= left, f"the disk is given back, down to {left} MB", 60)
    figures["drained_disk_mb"], figures["drained_rss_mb"] = disk_mb(broker), rss_mb(broker)
    broker.stop()
    verdict = Verdict(n=count, confirmed=count, faults=1)
    return verdict, figures


def check(figures):
    """Hold the memory against what was promised."""
    assert figures["rss_mb"] < RSS_MB_MAX
    for end in ("kill", "stop"):
        assert figures[f"{end}_rss_mb"] < RSS_MB_MAX


def test_a_backlog_of_200_000_lies_on_the_disk(amqpload, broker, publish_line):
    verdict, figures = backlog(amqpload, broker, 200_000, 4, 1_000)
    publish_line(verdict, **figures)
    check(figures)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("publishers", "window"), [(4, 5_000), (100, 20)])
def test_a_backlog_of_ten_million_lies_on_the_disk(amqpload, broker, publish_line, publishers, window):
    verdict, figures = backlog(amqpload, broker, 10_000_000, publishers, window)
    publish_line(verdict, **figures)
    check(figures)
    for end in ("kill", "stop"):
        assert figures[f"{end}_start_s"] < figures[f"{end}_raw_s"] * RESTART_FACTOR_MAX + 1
