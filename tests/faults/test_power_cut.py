"""Test 2: the power goes. The broker runs on an ext4 image; a copy of the image is what the disk had at that moment.

The kernel's cache is not in the copy, so what was never synced is gone, as it would be. A disk that lies about its own
cache cannot be shown so.
"""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from checker import History, Verdict
from faults.broker import Broker
from faults.disks import loop, make_image, need_root
from faults.load import Consumer, Publisher, declare, drain, wait_until

QUEUES = ("p0", "p1")
IMAGE_OCTETS = 192 << 20
CUTS_A_LIFE = 10
FULL_S = 540


@pytest.fixture
def memory(tmp_path):
    """Return a folder in memory for images, else the test's own."""
    folder = Path("/dev/shm") / f"pybroker-{tmp_path.parent.name}-{tmp_path.name}"
    if not folder.parent.is_dir():
        yield tmp_path
        return
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def frozen(pid):
    """Tell whether every thread of the process stands still, so that no fdatasync is under way."""
    states = [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(state == "T" for state in states)


def snapshot(broker, clients, image, copy):
    """Stop the broker's clock, copy its disk, let it go on; return the history up to there."""
    broker.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: frozen(broker.process.pid), "every thread stops", 10)
        subprocess.run(["cp", "--sparse=always", str(image), str(copy)], check=True)
        time.sleep(0.05)  # what the broker had sent is noted by now
        history = History()
        history.events = list(clients[0].history.events)
        history.fault(sum(client.in_flight for client in clients if isinstance(client, Publisher)))
    finally:
        broker.signal(signal.SIGCONT)
    return history


def after_the_cut(copy, folder, history, starts_s):
    """Start a second broker on the copy, drain it and return the verdict."""
    with loop(copy, folder):
        second = Broker(folder)
        try:
            second.start()
            drain(second.address, history, *QUEUES)
            second.stop()
        finally:
            second.clean_up()
        assert "Traceback" not in second.log
        starts_s += second.starts_s
    return history.judge()


def life(broker, memory, cuts, pick, number, total, starts_s, until):
    """Load one broker on an image and cut its power now and then."""
    history = History()
    image, copy = memory / "image", memory / "copy"
    with loop(make_image(image, IMAGE_OCTETS), broker.folder):
        try:
            broker.start()
            declare(broker.address, *QUEUES)
            clients = [
                *(
                    Publisher(broker.address, history, n, QUEUES, seed=pick.getrandbits(31), rate=2_500)
                    for n in range(4)
                ),
                *(Consumer(broker.address, history, queue, seed=pick.getrandbits(31)) for queue in QUEUES),
            ]
            for client in clients:
                client.start()
            for _ in range(cuts):
                if time.monotonic() > until:
                    break
                time.sleep(pick.uniform(0.1, 0.5))
                seen = snapshot(broker, clients, image, copy)
                verdict = after_the_cut(copy, memory / "mount", seen, starts_s)
                assert verdict.bad == {}, (number, verdict)
                total.add(verdict)
            for client in clients:
                client.stop()
            assert "Traceback" not in broker.log
            broker.stop()
        finally:
            broker.clean_up()


def cuts(broker, memory, number, seed, seconds):
    need_root("mkfs.ext4", "losetup")
    pick, total, starts_s = random.Random(seed), Verdict(), []
    until = time.monotonic() + seconds
    while total.faults < number and time.monotonic() < until:
        life(broker, memory, min(CUTS_A_LIFE, number - total.faults), pick, seed, total, starts_s, until)
    return total, {"start_p50_s": round(sorted(starts_s)[len(starts_s) // 2], 3)}


def test_what_was_confirmed_outlives_a_power_cut(broker, memory, seed, publish_line):
    total, figures = cuts(broker, memory, 2, seed, 60)
    publish_line(total, **figures)
    assert (total.bad, total.void, total.faults) == ({}, "", 2)


@pytest.mark.slow
@pytest.mark.timeout(FULL_S + 120)
def test_what_was_confirmed_outlives_power_cuts_for_nine_minutes(broker, memory, seed, publish_line):
    total, figures = cuts(broker, memory, 10_000, seed, FULL_S)
    publish_line(total, **figures)
    assert (total.bad, total.void) == ({}, "")
