"""Checker: a history of what clients saw of a broker, and the verdict on it (a total queue, as Jepsen calls it).

A message is known by queue, publisher and number, and its body carries the last two with a hash. What was confirmed may
not be lost; what was not may appear or not, once. Nothing here knows a socket or a file: the load clients write the
history down (`tests/faults/load.py`), a recovered store is compared by `compare`.
"""

import json
import shutil
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

HEAD = struct.Struct(">4sHQ")
MARK = b"chk1"
HASH_OCTETS = 8
BODY_OCTETS_MIN = HEAD.size + HASH_OCTETS


def commit() -> str:
    """Return the commit that is checked out; empty where there is no git, or no clone."""
    git = shutil.which("git")
    if git is None:
        return ""
    command = [git, "rev-parse", "--short", "HEAD"]
    folder = Path(__file__).parent
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout.strip()


class Key(NamedTuple):
    """One message in one queue."""

    queue: str
    publisher: int
    number: int


def body(publisher: int, number: int, octets: int = BODY_OCTETS_MIN) -> bytes:
    """Return the body of that message, at least as long as mark, names and hash need."""
    head = HEAD.pack(MARK, publisher, number)
    hashed = head + (b"%d." % number * octets)[: max(0, octets - BODY_OCTETS_MIN)]
    return hashed + blake2b(hashed, digest_size=HASH_OCTETS).digest()


def read_body(octets: bytes) -> tuple[int, int] | None:
    """Return publisher and number, None if an octet is not what was published."""
    hashed, digest = octets[:-HASH_OCTETS], octets[-HASH_OCTETS:]
    if len(octets) < BODY_OCTETS_MIN or blake2b(hashed, digest_size=HASH_OCTETS).digest() != digest:
        return None
    mark, publisher, number = HEAD.unpack_from(hashed)
    return (publisher, number) if mark == MARK else None


@dataclass
class Verdict:
    """What a history amounts to. `void` says why nothing follows from it, if so: it is no success then."""

    n: int = 0
    confirmed: int = 0
    uncertain: int = 0
    nacked: int = 0
    redelivered: int = 0
    lost: int = 0
    phantom: int = 0
    duplicate: int = 0
    reordered: int = 0
    corrupt: int = 0
    faults: int = 0
    in_flight: int = 0
    void: str = ""
    examples: list[str] = field(default_factory=list)

    @property
    def bad(self) -> dict[str, int]:
        """Return the broken promises by kind, empty if there are none."""
        kinds = ("lost", "phantom", "duplicate", "reordered", "corrupt")
        return {kind: getattr(self, kind) for kind in kinds if getattr(self, kind)}

    def count(self, kind: str, what: object) -> None:
        """Count one broken promise and keep the first few as examples."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.examples) < 10:
            self.examples.append(f"{kind}: {what}")

    def add(self, other: "Verdict") -> None:
        """Add another run's figures to these; one void run makes the whole void."""
        for name, figure in asdict(other).items():
            if isinstance(figure, int):
                setattr(self, name, getattr(self, name) + figure)
        self.void = self.void or other.void
        self.examples += other.examples

    def line(self, test: str, seed: int, started_s: float, **figures: object) -> str:
        """Return the JSON line to publish; `started_s` is monotonic."""
        told = {"test": test, "seed": seed, **asdict(self), **figures}
        told["duration_s"] = round(time.monotonic() - started_s, 1)
        told["commit"] = commit()
        return json.dumps({name: value for name, value in told.items() if name not in {"void", "examples"} or value})


class History:
    """What clients did and saw, in the order they noted it; any thread may note."""

    def __init__(self) -> None:
        self.events: list[tuple[str, object, object]] = []

    def publish(self, key: Key) -> None:
        """Note that a message is about to be sent."""
        self.events.append(("publish", key, None))

    def confirm(self, key: Key) -> None:
        """Note basic.ack from the broker."""
        self.events.append(("confirm", key, None))

    def nack(self, key: Key) -> None:
        """Note basic.nack from the broker: the message may have been kept all the same."""
        self.events.append(("nack", key, None))

    def deliver(self, key: Key | None, consumer: object, *, redelivered: bool) -> None:
        """Note a delivery; the key is None when the body is not what anybody published."""
        self.events.append(("deliver", key, (consumer, redelivered)))

    def ack(self, key: Key) -> None:
        """Note that a consumer's ack is about to be sent."""
        self.events.append(("ack", key, None))

    def certain(self, keys: Iterable[Key]) -> None:
        """Note that the broker has recorded the acks of these: it confirmed what was sent behind them."""
        self.events.append(("certain", tuple(keys), None))

    def fault(self, in_flight: int) -> None:
        """Note that all connections are gone, with so many publishes unconfirmed."""
        self.events.append(("fault", in_flight, None))

    def judge(self, remaining: Collection[Key] = (), *, confirmed_min: int = 1, fault_wanted: bool = True) -> Verdict:
        """Return the verdict, when all queues have been drained but for `remaining`."""
        return _Judge(self.events).verdict(frozenset(remaining), confirmed_min, fault_wanted)


class _Judge:
    """One pass over a history."""

    def __init__(self, events: list[tuple[str, object, object]]) -> None:
        self.out = Verdict()
        self.published: set[Key] = set()
        self.confirmed: set[Key] = set()
        self.nacked: set[Key] = set()
        self.seen: set[Key] = set()
        self.held: set[Key] = set()  # delivered since the last fault: nothing but a fault gives them back
        self.acked: set[Key] = set()
        self.recorded: set[Key] = set()
        self.newest: dict[tuple[object, str, int], int] = {}
        for kind, what, more in list(events):
            getattr(self, f"_{kind}")(what, more)

    def verdict(self, remaining: frozenset[Key], confirmed_min: int, fault_wanted: bool) -> Verdict:
        out = self.out
        for key in sorted(self.confirmed - self.acked - remaining):
            out.count("lost", key)
        for key in sorted(remaining - self.published):
            out.count("phantom", key)
        for key in sorted(remaining & self.recorded):
            out.count("duplicate", key)
        out.n, out.confirmed = len(self.published), len(self.confirmed)
        out.uncertain = len(self.published - self.confirmed)
        out.nacked = len(self.nacked)
        if len(self.confirmed) < confirmed_min:
            out.void = f"{len(self.confirmed)} confirms, {confirmed_min} are the least that says anything"
        elif fault_wanted and not out.in_flight:
            out.void = "no fault came while a publish was unconfirmed"
        return out

    def _publish(self, key: Key, _: object) -> None:
        self.published.add(key)

    def _confirm(self, key: Key, _: object) -> None:
        self.confirmed.add(key)

    def _nack(self, key: Key, _: object) -> None:
        self.nacked.add(key)

    def _ack(self, key: Key, _: object) -> None:
        self.acked.add(key)

    def _certain(self, keys: tuple[Key, ...], _: object) -> None:
        self.recorded.update(keys)

    def _fault(self, in_flight: int, _: object) -> None:
        self.out.faults += 1
        self.out.in_flight += in_flight
        self.held.clear()

    def _deliver(self, key: Key | None, more: tuple[object, bool]) -> None:
        consumer, redelivered = more
        if key is None:
            self.out.count("corrupt", f"a body at {consumer}")
        elif key not in self.published:
            self.out.count("phantom", key)
        elif key in self.seen:
            if key in self.held or key in self.recorded or not redelivered:
                self.out.count("duplicate", key)
            self.out.redelivered += 1
            self.held.add(key)
        else:
            self.seen.add(key)
            self.held.add(key)
            line = (consumer, key.queue, key.publisher)
            if self.newest.get(line, -1) > key.number:
                self.out.count("reordered", key)
            self.newest[line] = key.number


def compare(
    written: Mapping[Key, bytes], confirmed: Collection[Key], found: Iterable[tuple[Key, bytes]], *, reported: bool
) -> Verdict:
    """Return the verdict on a store that was damaged and opened again: what is missing must have been reported.

    Octets that differ are never excused, what was never written neither; one that was not confirmed may be missing.
    """
    out = Verdict(n=len(written), confirmed=len(confirmed), faults=1)
    times = Counter[Key]()
    for key, octets in found:
        times[key] += 1
        if key not in written:
            out.count("phantom", key)
        elif written[key] != octets:
            out.count("corrupt", key)
    for key, number in sorted(times.items()):
        if number > 1:
            out.count("duplicate", key)
    missing = sorted(set(confirmed) - set(times))
    out.uncertain = len(missing)
    if not reported:
        for key in missing:
            out.count("lost", key)
    return out
