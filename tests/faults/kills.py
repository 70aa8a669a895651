"""Lifetimes of a broker under a storm, each ended by signal 9 or in order, on a disk so small that segments roll often.

A block of lifetimes shares a data folder; at its end the queues are drained and the history is judged. A block depends
on its seed alone (as far as threads let it), so that a long run may be had in pieces.
"""

import contextlib
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from pamqp import commands

from tests.checker import History, Verdict
from tests.faults.broker import Broker
from tests.faults.disks import loop, make_image
from tests.faults.load import FANOUT, FANOUT_QUEUES, declare, drain
from tests.faults.storm import QUEUES, Facts, Storm
from tests.interop.peer import Peer

BLOCK = 10  # lifetimes between two drains
IMAGE_OCTETS = 160 << 20
# Free space at a start: a segment gets a 32nd of it, a mebibyte at least.
FREE_OCTETS = (24 << 20, 32 << 20, 64 << 20)
ALARM_OCTETS = 1_000_000  # or a small disk would let nobody publish
LIFE_S = 2.0  # at most
ORDERLY = 0.15  # of all ends


@contextlib.contextmanager
def small_disk(image: Path, folder: Path) -> Iterator[Path]:
    """Mount a small file system on the folder, where that is possible; else it is one like others."""
    if os.geteuid() or not shutil.which("mkfs.ext4"):
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with loop(make_image(image, IMAGE_OCTETS), folder):
        yield folder


def options(folder: Path) -> tuple[str, ...]:
    """Return what a broker on a small disk is started with."""
    config = folder.with_name(f"{folder.name}.conf")
    config.write_text(f"disk_free_limit.absolute = {ALARM_OCTETS}\n")
    return "--config", str(config)


@contextlib.contextmanager
def ballast(folder: Path, free_octets: int) -> Iterator[None]:
    """Leave only so much room on a small disk while the context lasts, which is when segments get their size."""
    at = os.statvfs(folder)
    octets = at.f_bavail * at.f_frsize - free_octets
    path = folder / "ballast"
    if 0 < octets < IMAGE_OCTETS:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, octets)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def prepare(address: tuple[str, int]) -> None:
    """Declare what the storm needs."""
    declare(address, *QUEUES)
    with Peer(address) as peer:
        peer.open()
        for queue in FANOUT_QUEUES:
            peer.call(commands.Queue.Bind(queue=queue, exchange=FANOUT), commands.Queue.BindOk)
        peer.close()


def lifetime(broker: Broker, history: History, storm: Storm) -> None:
    """Load a broker that runs, and end it by signal 9 or in order."""
    storm.begin(broker.address, broker.process.socket, history)
    storm.rage(LIFE_S)
    storm.check()
    storm.importer.stopping.set()
    if orderly := storm.pick.random() < ORDERLY:
        broker.stop()
    else:
        broker.kill()
    storm.cut()
    history.fault(storm.in_flight, orderly=orderly)


def segments(broker: Broker) -> int:
    """Return how many segments the log has begun."""
    numbers = (path.suffix[1:] for path in broker.data.glob("groups/local/seg.*"))
    return max((int(number, 16) for number in numbers if len(number) == 16), default=0)


def block(folder: Path, number: int, seed: int, starts_s: list[float]) -> Verdict:
    """Return the verdict on so many lifetimes in a folder of their own."""
    history, storm = History(), Storm(random.Random(seed))
    broker = Broker(folder, *options(folder))
    wrong = []
    try:
        with ballast(folder, storm.pick.choice(FREE_OCTETS)):
            broker.start()
        prepare(broker.address)
        for _ in range(number):
            lifetime(broker, history, storm)
            if storm.pick.random() < 0.3:
                broker.start_and_kill(storm.pick.uniform(0.1, 0.7))
            with ballast(folder, storm.pick.choice(FREE_OCTETS)):
                broker.start()
            wrong += storm.facts.compare(broker.process.socket)
        drain_all(broker.address, history, storm.facts)
        broker.stop()
    finally:
        broker.clean_up()
    verdict = history.judge()
    verdict.segments = segments(broker)
    for each in wrong:
        verdict.count("undone", each)
    starts_s += broker.starts_s[1:]
    assert "Traceback" not in broker.log, broker.log[broker.log.index("Traceback") :][:2_000]
    return verdict


def drain_all(address: tuple[str, int], history: History, facts: Facts) -> None:
    """Take everything out of the queues of a storm; `facts` know which ones there are."""
    drain(address, history, *QUEUES, *(name for name, there in facts.queues.items() if there), seconds=60)
