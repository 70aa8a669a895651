"""Traffic: what clients and operators do to a node, one call of the core after the other, told to the model."""

import random
from typing import TYPE_CHECKING, Any

from pybroker.run import Run, RunAttributes
from pybroker.seq_ranges import SeqRanges
from tests.store.journals import NAMES, body, content
from tests.store.simulator.model import Call, Message, Model, limited
from tests.store.simulator.violation import Violation

if TYPE_CHECKING:
    from tests.store.simulator.node import Node

ATTRIBUTES = (RunAttributes(persistent=True),) * 3 + (
    RunAttributes(persistent=True, priority=5),
    RunAttributes(persistent=True, ttl_ms=60_000),
)
BACKLOG = 16
QUEUES_MAX = 5
SIZES = (12, 12, 12, 40, 200, 700)


class Numbers:
    """Values that never come again, in all lives: bodies, and the ids of queues."""

    def __init__(self) -> None:
        self.body = 0
        self.queue = 0


class Traffic:
    """One life's clients. `step` does something; what it raises, the session of a client would be ended by."""

    def __init__(self, node: "Node", model: Model, numbers: Numbers, rng: random.Random) -> None:
        assert node.log is not None
        self.node = node
        self.log = node.log
        self.model = model
        self.numbers = numbers
        self.rng = rng
        self._grown: tuple[Run, tuple[int, ...]] | None = None
        self.fetches = 0  # that were not answered yet
        self.clean = True  # no call ended with an exception
        self._pages: list[tuple[Any, Run]] = []
        self._written_pages: list[tuple[Any, Run]] = []
        ways = (
            (self.publish, 30),
            (self.ack, 18),
            (self.transaction, 6),
            (self.dead_letter, 5),
            (self.move, 3),
            (self.requeue, 5),
            (self.fetch, 6),
            (self.declare, 4),
            (self.delete, 4),
            (self.import_definitions, 2),
            (self.purge, 1),
            (self.page_out, 2),
            (self.page_in, 2),
        )
        self._ways = [way for way, _ in ways]
        self._weights = [weight for _, weight in ways]

    def step(self) -> None:
        """Do one thing at random."""
        if not self._queues():
            self.declare()
            return
        # As consumers do: the more there is, the more goes.
        if sum(len(self.model.live(queue_id)) for queue_id in self._queues()) > BACKLOG:
            self.rng.choice((self.ack, self.ack, self.ack, self.purge))()
            return
        (way,) = self.rng.choices(self._ways, self._weights)
        way()

    def _queues(self) -> list[int]:
        return [each for each in self.model.queues if each not in self.model.deleted]

    # -- messages ------------------------------------------------------------------------------------------------------

    def publish(self) -> None:
        with self._call() as call:
            queues = self.some_queues()
            grown = self._grown
            if (
                grown is not None
                and self.rng.random() < 0.3
                and grown[0].first_seq + grown[0].count == self.log.next_seq
            ):
                run, queues = grown
                start = run.count
                contents = self._contents(self.rng.randrange(1, 3))
                self.log.take(len(contents))
                bodies = [body(each) for each in contents]
                run.extend(contents, sum(map(len, contents)), sum(map(len, bodies)), _size(bodies))
            else:
                run, start = self.run(), 0
                self._grown = run, queues
            self._append(call, run, range(start, run.count), queues)
        if self.rng.random() < 0.6:
            self.node.want(call.commit_position)

    def some_queues(self) -> tuple[int, ...]:
        """Choose queues that get the same."""
        queues = self._queues()
        return tuple(sorted(self.rng.sample(queues, min(len(queues), self.rng.choice((1, 1, 1, 2, 3))))))

    def _contents(self, count: int) -> list[bytes]:
        size = self.rng.choice(SIZES) if self.rng.random() > 0.01 else 3_000
        contents = []
        for _ in range(count):
            self.numbers.body += 1
            contents.append(content(b"%d." % self.numbers.body + bytes(size if self.rng.random() < 0.7 else size // 3)))
        return contents

    def run(self, attributes: RunAttributes | None = None) -> Run:
        """Return messages with seqs that nobody has."""
        contents = self._contents(self.rng.choice((1, 1, 2, 4)))
        bodies = [body(each) for each in contents]
        octets, body_octets = sum(map(len, contents)), sum(map(len, bodies))
        first = self.log.take(len(contents))
        attributes = attributes or self.rng.choice(ATTRIBUTES)
        return Run(
            NAMES, attributes, first, contents, octets, body_octets, _size(bodies), self.node.clock.now_ms, 1, 131_072
        )

    def note(self, call: Call, run: Run, indexes: range, queues: tuple[int, ...]) -> None:
        """Tell the model of messages that reach queues."""
        for queue_id in queues:
            for at in indexes:
                self.model.queues[queue_id][run.first_seq + at] = Message(body(run.content(at)), call, run, at)

    def _append(self, call: Call, run: Run, indexes: range, queues: tuple[int, ...]) -> None:
        self.note(call, run, indexes, queues)
        call.commit_position = self.log.append(run, indexes, queues)

    def _call(self) -> "Any":
        return self.model.call()

    def _choose(self, queue_id: int, most: int) -> list[int]:
        """Choose messages of a queue: the first ones, or some."""
        live = self.model.live(queue_id)
        if not live:
            return []
        count = min(len(live), self.rng.randrange(1, most + 1))
        return live[:count] if self.rng.random() < 0.6 else sorted(self.rng.sample(live, count))

    def _settle(self, call: Call, queue_id: int, seqs: list[int]) -> None:
        messages = self.model.queues[queue_id]
        for seq in seqs:
            messages[seq].settled = call
        for run, indexes, first, last in _joined(messages, seqs):
            if run is not None and self.rng.random() < 0.7:
                self.log.settle(queue_id, run, indexes)
            else:
                self.log.settle_seqs(queue_id, first, last)
        call.commit_position = self.log.commit_position

    def ack(self) -> None:
        queue_id = self.rng.choice(self._queues())
        with self._call() as call:
            if seqs := self._choose(queue_id, self.rng.choice((1, 3, 12))):
                self._settle(call, queue_id, seqs)
        if self.rng.random() < 0.2 and seqs:
            self.node.want(call.commit_position)

    def transaction(self) -> None:
        with self._call() as call:
            for _ in range(self.rng.randrange(1, 4)):
                run = self.run()
                self._append(call, run, range(run.count), self.some_queues())
            for queue_id in self.some_queues():
                seqs = [
                    seq for seq in self._choose(queue_id, 3) if self.model.queues[queue_id][seq].appended is not call
                ]
                if seqs:
                    self._settle(call, queue_id, seqs)
            call.commit_position = self.log.commit_position
        self.node.want(call.commit_position)

    def dead_letter(self) -> None:
        source = self.rng.choice(self._queues())
        seqs = self._choose(source, 2)
        if not seqs:
            return
        with self._call() as call:
            run = self.run()
            self._append(call, run, range(run.count), self.some_queues())
            self._settle(call, source, [seq for seq in seqs if self.model.queues[source][seq].appended is not call])
            call.commit_position = self.log.commit_position

    def move(self) -> None:
        """Put messages of one queue into another as a run of their own, and settle them, in one call."""
        source, target = self.rng.choice(self._queues()), self.rng.choice(self._queues())
        seqs = self._choose(source, 24)
        if source == target or not seqs:
            return
        contents = [content(self.model.queues[source][seq].body) for seq in seqs]
        bodies = [body(each) for each in contents]
        octets, first = sum(map(len, contents)), self.log.take(len(contents))
        attributes, now_ms = self.rng.choice(ATTRIBUTES), self.node.clock.now_ms
        run = Run(NAMES, attributes, first, contents, octets, sum(map(len, bodies)), _size(bodies), now_ms, 1, 131_072)
        with self._call() as call:
            self._append(call, run, range(run.count), (target,))
            self._settle(call, source, seqs)

    def requeue(self) -> None:
        """Put messages back that were delivered; a queue that limits deliveries counts them."""
        queues = [each for each in self._queues() if limited(each)]
        if not queues:
            return
        queue_id = self.rng.choice(queues)
        messages = self.model.queues[queue_id]
        with self._call() as call:
            for seq in self._choose(queue_id, 3):
                message = messages[seq]
                if message.run is None:
                    continue
                times = message.deliveries + 1
                delay_ms = self.rng.choice((0, 0, 1, 1_000, 60_000, 10_000_000))
                due_ms = self.node.clock.now_ms + delay_ms if delay_ms else 0
                message.returns.append((call, times, due_ms + self.log.steady_ms if due_ms else 0))
                indexes = range(message.index, message.index + 1)
                self.log.give_back(queue_id, message.run, indexes, times, due_ms)
            call.commit_position = self.log.commit_position or self.log.last_commit_position

    def purge(self) -> None:
        queue_id = self.rng.choice(self._queues())
        with self._call() as call:
            if seqs := self.model.live(queue_id):
                self._settle(call, queue_id, seqs)

    # -- reading back --------------------------------------------------------------------------------------------------

    def fetch(self) -> None:
        queue_id = self.rng.choice(self._queues())
        seqs = [seq for seq in self.model.live(queue_id) if seq < self.log.safe_seq]
        if self.rng.random() < 0.5:
            seqs = sorted(self.rng.sample(seqs, min(len(seqs), 3)))
        if seqs:
            self.read(queue_id, seqs)

    def read(self, queue_id: int, seqs: list[int]) -> None:
        """Have messages read back; they have to come."""
        wanted = SeqRanges()
        expected = {}
        for seq in seqs:
            wanted.add(seq, 1, 0)
            expected[seq] = self.model.queues[queue_id][seq].body

        def done(found: Any) -> None:
            self.fetches -= 1
            # A read that waits for another one, or is tried again, leaves out what was settled meanwhile.
            live = set(self.model.live(queue_id)) if queue_id not in self.model.deleted else set()
            came = {run.first_seq + at for run, indexes in found for at in indexes}
            wanted_still = {seq: body for seq, body in expected.items() if seq in live or seq in came}
            self._compare(f"queue {queue_id}", wanted_still, found)

        self.log.fetch(queue_id, wanted, done)
        self.fetches += 1

    def _compare(self, where: str, expected: dict[int, bytes], found: Any) -> None:
        got = {run.first_seq + at: body(run.content(at)) for run, indexes in found for at in indexes}
        if any(got[seq] != expected.get(seq) for seq in got):
            raise Violation("phantom", f"{where}: other messages were read than those that were wanted")
        if len(got) < len(expected) and (not self.node.fault.hit or self.node.fault.shortage):
            missing = sorted(expected.keys() - got.keys())
            raise Violation("unread", f"{where}: {missing[:5]} were not read back: {self.node.unreadable[-3:]}")

    def page_out(self) -> None:
        """Let transient messages leave the memory."""
        pages = self.node.pages
        assert pages is not None
        if pages.writing is not None:
            return
        gathered = []
        for _ in range(self.rng.randrange(1, 4)):
            run = self.run(RunAttributes())
            gathered.append((pages.page_out(run, range(run.count)), run))

        def done(error: str) -> None:
            if not error:
                self._written_pages += gathered

        pages.commit(done)

    def page_in(self) -> None:
        pages = self.node.pages
        assert pages is not None
        taken, self._written_pages = self._written_pages[:2], self._written_pages[2:]
        if not taken:
            return
        expected = {run.first_seq + at: body(run.content(at)) for _, run in taken for at in range(run.count)}
        parts = []
        for page, run in taken:
            seq_ranges = SeqRanges()
            seq_ranges.add(run.first_seq, run.count, 0)
            parts.append((page, seq_ranges))

        def done(found: Any) -> None:
            self.fetches -= 1
            for page, run in taken:
                page.release(run.count)
            self._compare("pages", expected, found)

        pages.fetch(parts, done)
        self.fetches += 1

    # -- definitions ---------------------------------------------------------------------------------------------------

    def _put(self, kind: str, key: tuple[str, ...], value: dict[str, Any] | None) -> None:
        self.node.definitions.change(kind, key, value)

    def declare(self) -> int:
        if len(self._queues()) > QUEUES_MAX:
            return 0
        self.numbers.queue += 1
        queue_id = self.numbers.queue
        name = f"q{queue_id}"
        self._put("queue", ("/", name), {"id": queue_id, "durable": True})
        self.model.queues[queue_id] = {}
        self.model.names[queue_id] = name
        return queue_id

    def delete(self) -> None:
        queues = self._queues()
        if len(queues) < 3:
            return
        queue_id = self.rng.choice(queues)
        self._put("queue", ("/", self.model.names[queue_id]), None)
        self.model.deleted.add(queue_id)
        self.log.forget_queue(queue_id)

    def import_definitions(self) -> None:
        """Declare at once what takes the definitions' thread long."""
        for at in range(self.rng.randrange(2, 6)):
            if len(self._queues()) < QUEUES_MAX:
                self.declare()
            key = ("/", "x", "queue", f"q{at}", str(self.rng.randrange(9)), "~")
            self._put("binding", key, {"arguments": {}})


def _size(bodies: list[bytes]) -> int:
    sizes = {len(each) for each in bodies}
    return sizes.pop() if len(sizes) == 1 else -1


def _joined(messages: dict[int, Message], seqs: list[int]) -> "list[tuple[Any, range, int, int]]":
    """Return seqs as consecutive ones of a run: the run, its messages, first and last seq."""
    found: list[tuple[Any, range, int, int]] = []
    for seq in seqs:
        message = messages[seq]
        if found:
            run, indexes, first, last = found[-1]
            if run is message.run and last + 1 == seq:
                found[-1] = run, range(indexes.start, message.index + 1), first, seq
                continue
        found.append((message.run, range(message.index, message.index + 1), seq, seq))
    return found
