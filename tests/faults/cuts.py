"""Power cuts under a storm. The broker runs on an ext4 image; a copy of the image is what the disk had at that moment.

The kernel's cache is not in the copy, so what was never synced is gone, as it would be. A disk that lies about its own
cache cannot be shown so.
"""

import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.checker import History, Verdict
from tests.faults.broker import Broker
from tests.faults.disks import loop, make_image
from tests.faults.kills import FREE_OCTETS, IMAGE_OCTETS, ballast, drain_all, options, prepare, segments
from tests.faults.load import wait_until
from tests.faults.storm import Facts, Storm

LIFE = 10  # cuts of one broker
BETWEEN_S = 0.5  # at most
NOTED_S = 0.05  # what a broker had sent before it was stopped is noted by then


def frozen(pid: int) -> bool:
    """Tell whether every thread of the process stands still, so that no fdatasync is under way."""
    states = [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(state == "T" for state in states)


def snapshot(broker: Broker, storm: Storm, history: History, image: Path, copy: Path) -> tuple[History, Facts]:
    """Copy the disk of a broker that was stopped; return what is known up to there."""
    wait_until(lambda: frozen(broker.process.pid), "every thread stops", 10)
    subprocess.run(["cp", "--sparse=always", str(image), str(copy)], check=True)
    time.sleep(NOTED_S)
    seen = History()
    seen.events = list(history.events)
    seen.fault(storm.in_flight)
    return seen, storm.facts.copy()


def after_the_cut(copy: Path, folder: Path, seen: History, facts: Facts, starts_s: list[float]) -> Verdict:
    """Start a second broker on the copy, drain it and return the verdict."""
    with loop(copy, folder):
        second = Broker(folder, *options(folder))
        try:
            second.start()
            wrong = facts.compare(second.process.socket)
            drain_all(second.address, seen, facts)
            second.stop()
        finally:
            second.clean_up()
        assert "Traceback" not in second.log, second.log
        starts_s += second.starts_s
    verdict = seen.judge()
    for each in wrong:
        verdict.count("undone", each)
    return verdict


def life(memory: Path, number: int, seed: int, starts_s: list[float], go_on: Callable[[Verdict], bool]) -> Verdict:
    """Load one broker on an image in `memory`, cut its power so often, as long as `go_on` wants; return the verdict."""
    history, storm, total = History(), Storm(random.Random(seed)), Verdict()
    folder, image, copy = memory / "b", memory / "image", memory / "copy"
    with loop(make_image(image, IMAGE_OCTETS), folder):
        broker = Broker(folder, *options(folder))
        try:
            with ballast(folder, storm.pick.choice(FREE_OCTETS)):
                broker.start()
            prepare(broker.address)
            storm.begin(broker.address, broker.process.socket, history)
            wait_until(lambda: storm.confirmed, "something was confirmed")
            while total.faults < number and go_on(total):
                storm.rage(BETWEEN_S)
                broker.signal(signal.SIGSTOP)
                try:
                    seen, facts = snapshot(broker, storm, history, image, copy)
                    # It stands still meanwhile: the second one has the machine for itself.
                    total.add(after_the_cut(copy, memory / "mount", seen, facts, starts_s))
                finally:
                    broker.signal(signal.SIGCONT)
                storm.check()
            storm.importer.stopping.set()
            broker.kill()
            storm.cut()
            total.segments = segments(broker)
            assert "Traceback" not in broker.log, broker.log
        finally:
            broker.clean_up()
    return total
