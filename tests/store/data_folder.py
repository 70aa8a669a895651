"""A whole data folder, as a node has it: definitions of queues with the ids 1 to 3, and a log for them."""

import random
from pathlib import Path

from pybroker.store.disk import Disk
from pybroker.store.log_path import log_folder, open_log
from pybroker.store.tools.backup import Moment
from tests.store.definitions_folder import Folder
from tests.store.journals import Node

QUEUES = (1, 2, 3)


class DataFolder:
    """`node` is the log's last life, `expected` what lives in each queue by what was done to it: seq -> body."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.definitions = Folder(path)
        self.definitions.fill({("queue", ("/", f"q{n}")): {"id": n} for n in QUEUES})
        self.log = open_log(Disk(path))
        self.node = Node(self.log, QUEUES, largest=20_000, root=Disk(path))
        self.expected: dict[int, dict[int, bytes]] = {n: {} for n in QUEUES}
        self._runs: list[tuple[int, object, int]] = []

    def busy(self, rng: random.Random, steps: int) -> None:
        """Publish and settle at random."""
        for _ in range(steps):
            queues = tuple(sorted(rng.sample(QUEUES, rng.randint(1, 3))))
            bodies = [rng.randbytes(rng.randint(0, 400)) for _ in range(rng.randint(1, 5))]
            run = self.node.publish(bodies, queues)
            for queue in queues:
                self.expected[queue] |= {run.first_seq + at: body for at, body in enumerate(bodies)}
                self._runs += [(queue, run, at) for at in range(len(bodies))]
            for _ in range(rng.choice((0, 2, 8, 30))):
                if self._runs:
                    queue, run, at = self._runs.pop(rng.randrange(len(self._runs)))
                    self.node.settle(run, range(at, at + 1), queue)
                    del self.expected[queue][run.first_seq + at]
            if rng.random() < 0.5:
                self.node.commit()
            if rng.random() < 0.3:
                self.node.tick(1_000)

    def settle_all(self) -> None:
        """Let nothing live any more."""
        for queue, run, at in self._runs:
            self.node.settle(run, range(at, at + 1), queue)
        self._runs = []
        self.expected = {n: {} for n in QUEUES}

    def hold(self) -> Moment:
        """Have the log held, and its checkpoint written."""
        commit_position, segments = self.node.log.maintenance.hold()
        self.node.work()
        assert self.node.log.maintenance.checkpoints[0] == commit_position
        return Moment("pybroker@test", commit_position, tuple(segments))

    def snapshot(self) -> dict[int, dict[int, bytes]]:
        return {queue: dict(messages) for queue, messages in self.expected.items()}


def contents(path: Path) -> dict[int, dict[int, bytes]]:
    """Start a node on a data folder; return what lives in its queues."""
    node = Node(Disk(log_folder(path)), QUEUES, root=Disk(path))
    return {queue: node.bodies(live, queue) if (live := node.live(queue)) else {} for queue in QUEUES}


def done(work):
    """Do a piece of work to its end; return its steps and what came of it."""
    steps = []
    while True:
        try:
            steps.append(next(work))
        except StopIteration as end:
            return steps, end.value


def flip(path: Path, rng: random.Random) -> int:
    """Turn one bit of a file over; return where."""
    octets = bytearray(path.read_bytes())
    at = rng.randrange(len(octets))
    octets[at] ^= 1 << rng.randrange(8)
    path.write_bytes(octets)
    return at
