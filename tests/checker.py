"""Checker: a history of what clients saw of a broker, and the verdict on it (a total queue, as Jepsen calls it).

A message is known by queue, publisher and number, and its body carries the last two with a hash. A confirmed message
may not be lost; an unconfirmed one may appear once or not at all. Nothing here knows a socket or a file: the load
clients write the history down (`tests/faults/load.py`), a recovered store is compared by `compare`.

Which acknowledgements are promised
-----------------------------------
The broker settles a message in memory at once and writes that down with the next batch of the log. An acknowledgement
is *recorded*, and its message never comes back, from the first of these answers on:

1. tx.commit-ok, for what was acknowledged in that transaction;
2. the confirm of a persistent message to a durable queue that was published behind the ack on the same connection, be
   it on another channel: octets of one connection take effect in order, its record is in the same batch or in a later
   one, and batches are completed in order;
3. tx.commit-ok of a transaction on the same connection that was committed behind the ack, if such a message was
   published or acknowledged in it;
4. queue.delete-ok of a durable queue, for all that was in it.

Another connection's confirm says as much if that client published because of an answer to something that was sent
behind the ack on the ack's connection.

An ack is *heard* when anything sent behind it on its channel was answered: qos-ok, declare-ok, close-ok, the confirm of
a transient message. It may be in memory alone then. An orderly stop (exit code 0) records what was heard before it; a
crash may forget it, about 200 ms back, longer while the disk is full. Of an ack that was not even heard nothing is
promised.

An acknowledged message whose acknowledgement is not recorded may come back after a fault, with the flag `redelivered`,
and only then. A transaction whose commit-ok did not come has taken effect as a whole or not at all. Requeued and
rejected messages are nobody's promise.
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
    """The sum of a history. `void` says why nothing follows from it, if so: it is no success then.

    `returned` had their acks recorded and came back, `torn` are transactions of which a part took effect, `undone`
    definitions whose change was answered, and is not so. `recorded` are acks that are promised, `stops` those of the
    `faults` that were orderly, `segments` how many the log has begun.
    """

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
    returned: int = 0
    torn: int = 0
    undone: int = 0
    recorded: int = 0
    transactions: int = 0
    faults: int = 0
    stops: int = 0
    in_flight: int = 0
    segments: int = 0
    void: str = ""
    examples: list[str] = field(default_factory=list)

    @property
    def bad(self) -> dict[str, int]:
        """Return the broken promises by kind, empty if there are none."""
        kinds = ("lost", "phantom", "duplicate", "reordered", "corrupt", "returned", "torn", "undone")
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
    """The actions and observations of clients, in the order they noted them; any thread may note."""

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

    def heard(self, keys: Iterable[Key]) -> None:
        """Note that the broker has the acks of these, if only in memory: it answered what was sent behind them."""
        self.events.append(("heard", tuple(keys), None))

    def certain(self, keys: Iterable[Key]) -> None:
        """Note that the broker has recorded the acks of these: see above, which answers say so."""
        self.events.append(("certain", tuple(keys), None))

    def commit(self, who: object, published: Iterable[Key], acked: Iterable[Key]) -> None:
        """Note that tx.commit is about to be sent; `who` has no other one open."""
        self.events.append(("commit", who, (tuple(published), tuple(acked))))

    def committed(self, who: object) -> None:
        """Note tx.commit-ok: what was published is confirmed, what was acked is recorded."""
        self.events.append(("committed", who, None))

    def fault(self, in_flight: int, *, orderly: bool = False) -> None:
        """Note that all connections are gone, with so many publishes unconfirmed, by a crash or an orderly stop."""
        self.events.append(("fault", in_flight, orderly))

    def judge(self, remaining: Collection[Key] = (), *, confirmed_min: int = 1, fault_wanted: bool = True) -> Verdict:
        """Return the verdict, when all queues have been drained but for `remaining`."""
        return _Judge(self.events).verdict(frozenset(remaining), confirmed_min, fault_wanted)


class _Open(NamedTuple):
    """A transaction whose commit-ok never came. Of `vanished` nothing follows if it is not seen again.

    These are publishes that were delivered and acked since, and acked ones whose own publish was never confirmed.
    """

    published: tuple[Key, ...]
    acked: tuple[Key, ...]
    at: int
    vanished: frozenset[Key]


class _Judge:
    """One pass over a history."""

    def __init__(self, events: list[tuple[str, object, object]]) -> None:
        self.out = Verdict()
        self.published: set[Key] = set()
        self.confirmed: set[Key] = set()
        self.nacked: set[Key] = set()
        self.seen: dict[Key, int] = {}  # when it was delivered last
        self.held: set[Key] = set()  # delivered since the last fault: nothing but a fault gives them back
        self.acked: set[Key] = set()
        self.heard: set[Key] = set()
        self.recorded: set[Key] = set()
        self.newest: dict[tuple[object, str, int], int] = {}
        self.commits: dict[object, tuple[tuple[Key, ...], tuple[Key, ...]]] = {}
        self.open: list[_Open] = []
        for self.at, (kind, what, more) in enumerate(list(events)):
            getattr(self, f"_{kind}")(what, more)

    def verdict(self, remaining: frozenset[Key], confirmed_min: int, fault_wanted: bool) -> Verdict:
        out = self.out
        for key in sorted(self.confirmed - self.acked - remaining):
            out.count("lost", key)
        for key in sorted(remaining - self.published):
            out.count("phantom", key)
        for key in sorted(remaining & self.recorded):
            out.count("returned", key)
        for each in self.open:
            self._judge_open(each, remaining)
        out.n, out.confirmed = len(self.published), len(self.confirmed)
        out.uncertain = len(self.published - self.confirmed)
        out.nacked, out.recorded = len(self.nacked), len(self.recorded)
        if len(self.confirmed) < confirmed_min:
            out.void = f"{len(self.confirmed)} confirms, {confirmed_min} are the least that says anything"
        elif fault_wanted and not out.in_flight:
            out.void = "no fault came while a publish was unconfirmed"
        return out

    def _judge_open(self, each: _Open, remaining: frozenset[Key]) -> None:
        """Find out of a transaction that was cut short whether it took effect, and whether all of it says the same."""

        def there(keys: Iterable[Key]) -> set[Key]:
            return {key for key in keys if self.seen.get(key, -1) > each.at or key in remaining}

        copies, originals = there(each.published), there(each.acked)
        missing = set(each.published) - copies - each.vanished
        took = copies | (set(each.acked) - originals - each.vanished)
        if took and (missing or originals):
            told = f"took effect: {sorted(took)[:3]}, did not: {sorted(missing | originals)[:3]}"
            self.out.count("torn", f"of {len(each.published)} publishes and {len(each.acked)} acks {told}")

    def _publish(self, key: Key, _: object) -> None:
        self.published.add(key)

    def _confirm(self, key: Key, _: object) -> None:
        self.confirmed.add(key)

    def _nack(self, key: Key, _: object) -> None:
        self.nacked.add(key)

    def _ack(self, key: Key, _: object) -> None:
        self.acked.add(key)

    def _heard(self, keys: tuple[Key, ...], _: object) -> None:
        self.heard.update(keys)

    def _certain(self, keys: tuple[Key, ...], _: object) -> None:
        self.recorded.update(keys)

    def _commit(self, who: object, both: tuple[tuple[Key, ...], tuple[Key, ...]]) -> None:
        self.commits[who] = both
        self.published.update(both[0])
        self.acked.update(both[1])

    def _committed(self, who: object, _: object) -> None:
        published, acked = self.commits.pop(who)
        self.confirmed.update(published)
        self.recorded.update(acked)
        self.out.transactions += 1

    def _fault(self, in_flight: int, orderly: bool | None) -> None:
        self.out.faults += 1
        self.out.stops += bool(orderly)
        self.out.in_flight += in_flight
        self.held.clear()
        if orderly:
            self.recorded |= self.heard
        self.heard.clear()
        for published, acked in self.commits.values():
            vanished = (self.acked & set(published)) | (set(acked) - self.confirmed)
            self.open.append(_Open(published, acked, self.at, frozenset(vanished)))
        self.commits.clear()

    def _deliver(self, key: Key | None, more: tuple[object, bool]) -> None:
        consumer, redelivered = more
        if key is None:
            self.out.count("corrupt", f"a body at {consumer}")
            return
        if key not in self.published:
            self.out.count("phantom", key)
            return
        if key in self.recorded:
            self.out.count("returned", key)
        elif key in self.seen and (key in self.held or not redelivered):
            self.out.count("duplicate", key)
        if key in self.seen:
            self.out.redelivered += 1
        else:
            line = (consumer, key.queue, key.publisher)
            if self.newest.get(line, -1) > key.number:
                self.out.count("reordered", key)
            self.newest[line] = key.number
        self.seen[key] = self.at
        self.held.add(key)


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
