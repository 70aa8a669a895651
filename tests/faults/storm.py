"""All that may happen to a broker at once: publishers and consumers, transactions, declares and deletes, imports.

Each client notes what it is about to do and what was answered, so that the broker may die at any moment: messages in
the history (`checker.py` says which acknowledgements are promised), definitions in `Facts`.
"""

import random
import threading
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from pamqp import base, commands, frame as codec

from tests.checker import History, Key, body
from tests.faults.control import GoneError, RefusedError, ask, document
from tests.faults.load import FANOUT, FANOUT_QUEUES, TICK_S, WAIT_S, Client, Consumer, Publisher, Receiver
from tests.interop.peer import PERSISTENT, ClosedError, publish

COMMIT_OK, ROLLBACK_OK, DELETE_OK = b"\0\x5a\0\x15", b"\0\x5a\0\x1f", b"\0\x32\0\x29"
SOURCE, TARGET = "t0", "t1"  # a transaction acks in the one and publishes to the other
QUEUES = (*FANOUT_QUEUES, SOURCE, TARGET)
OCTETS = (0, 30, 300, 1_000, 6_000, 20_000)
PUBLISHERS, TRANSACTORS = 3, 3
DECLARED = 4  # names that are declared and deleted again and again
IMPORTED = (20, 300, 1_500)
MOMENT_S = 2.0
PAUSE_S = 0.6  # between two imports, at most: transactions are few while one holds back their answers


class Facts:
    """Answers about definitions: True or a number of queues: it is there; False: not; None: nobody knows.

    `contents` are the messages of a queue that is declared and deleted, as far as they may still be in it.
    """

    def __init__(self) -> None:
        self.queues: dict[str, bool | None] = {}
        self.vhosts: dict[str, int | bool | None] = {}
        self.contents: dict[str, list[Key]] = {}

    def copy(self) -> "Facts":
        made = Facts()
        made.queues, made.vhosts = dict(self.queues), dict(self.vhosts)
        made.contents = {name: list(keys) for name, keys in list(self.contents.items())}
        return made

    def compare(self, control: Path) -> list[str]:
        """Return what a broker contradicts; what nobody knew is known then."""
        vhosts = {row[0] for row in ask(control, "list_vhosts")}
        queues = {row[0] for row in ask(control, "list_queues", columns=["name"])}
        wrong = [f"queue {name}: {was}" for name, was in self.queues.items() if was not in {None, name in queues}]
        known = {name: was for name, was in self.vhosts.items() if was is not None}
        wrong += [f"vhost {name}: {was}" for name, was in known.items() if bool(was) != (name in vhosts)]
        for name, count in self.vhosts.items():
            if not isinstance(count, bool | None) and name in vhosts:
                there = len(ask(control, "list_queues", vhost=name, columns=["name"]))
                if there != count:
                    wrong.append(f"vhost {name}: {there} queues of {count}")
        self.queues = {name: name in queues for name in self.queues}
        self.vhosts = {name: True for name in self.vhosts if name in vhosts}
        return wrong


class Transactor(Receiver):
    """Acks some of what it gets and publishes other things, commits both; now and then it rolls back.

    Some of it goes to a queue that was declared just before, so that the transaction waits for that too.
    """

    def __init__(
        self,
        address: tuple[str, int],
        history: History,
        facts: Facts,
        publisher: int,
        *,
        first: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(address, history, f"transactor {publisher}", SOURCE, seed, 200)
        self.facts, self.publisher, self.number = facts, publisher, first
        self.in_flight = 0
        self.moving = threading.Event()  # a declaration and a transaction that needs it are under way
        self.peer.call(commands.Tx.Select(), commands.Tx.SelectOk)
        self.subscribe()

    def work(self) -> None:
        while not self.stopping.is_set():
            if not self.pending:
                self.receive()
            elif self.random.random() < 0.8:
                self._transact((TARGET, *FANOUT_QUEUES), self.random.randint(0, 4))
            else:
                self._move_to_a_fresh_queue()

    def _transact(self, targets: tuple[str, ...], count: int, before: bytes = b"") -> list[Key]:
        """Publish and ack; return what was published, if that was committed."""
        taken = [self.pending[at] for at in range(self.random.randint(1, min(40, len(self.pending))))]
        published = [Key(self.random.choice(targets), self.publisher, self.number + at) for at in range(count)]
        self.number += count
        bodies = [body(*key[1:], self.random.choice(OCTETS)) for key in published]
        parts = [publish("", key.queue, each, PERSISTENT) for key, each in zip(published, bodies, strict=True)]
        ack = codec.marshal(commands.Basic.Ack(taken[-1][0], multiple=True), 1)
        octets = before + b"".join(parts) + ack
        if self.random.random() < 0.1:
            # A message rolled back was never published: to see it would be a phantom.
            self._call(octets + codec.marshal(commands.Tx.Rollback(), 1), ROLLBACK_OK)
            return []
        self.history.commit(self.who, published, [key for _, key in taken if key is not None])
        self.in_flight = count
        self._call(octets + codec.marshal(commands.Tx.Commit(), 1), COMMIT_OK)
        self.history.committed(self.who)
        self.in_flight = 0
        for _ in taken:
            self.pending.popleft()
        return published

    def _move_to_a_fresh_queue(self) -> None:
        name = f"n{self.publisher}.{self.number}"
        self.facts.queues[name] = None
        declared = codec.marshal(commands.Queue.Declare(queue=name, durable=True, nowait=True), 1)
        self.moving.set()
        keys = self._transact((name,), self.random.randint(1, 4), declared)
        self.moving.clear()
        if keys:
            self.facts.queues[name] = True  # what is confirmed has its queue
        for key in keys:
            self.history.ack(key)
        self.facts.queues[name] = None
        self._call(codec.marshal(commands.Queue.Delete(queue=name), 1), DELETE_OK)
        self.history.certain(keys)
        del self.facts.queues[name]

    def _call(self, octets: bytes, answer: bytes) -> None:
        self.peer.socket.settimeout(WAIT_S)
        self.peer.socket.sendall(octets)
        self.peer.socket.settimeout(TICK_S)
        while all(payload[:4] != answer for _, payload in self.receive()):
            pass


class Declarer(Client):
    """Declares durable queues, publishes to them with confirms, purges and deletes them."""

    def __init__(
        self,
        address: tuple[str, int],
        history: History,
        facts: Facts,
        publisher: int,
        *,
        first: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(address, history, f"declarer {publisher}", seed)
        self.facts, self.publisher, self.number = facts, publisher, first
        self.in_flight = 0
        self.tag = 0
        self.peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)

    def work(self) -> None:
        self.peer.socket.settimeout(WAIT_S)
        while not self.stopping.is_set():
            name = f"d{self.random.randrange(DECLARED)}"
            self._declare(name)
            self._publish(name)
            what = self.random.random()
            if what < 0.6:
                self._remove(name)
            elif what < 0.7:
                for key in self.facts.contents[name]:
                    self.history.ack(key)
                self._call(commands.Queue.Purge(queue=name), commands.Queue.PurgeOk)

    def _declare(self, name: str) -> None:
        if not self.facts.queues.get(name):
            self.facts.queues[name] = None
        self._call(commands.Queue.Declare(queue=name, durable=True), commands.Queue.DeclareOk)
        self.facts.queues[name] = True
        self._call(commands.Queue.Bind(queue=name, exchange="amq.topic", routing_key=name), commands.Queue.BindOk)

    def _publish(self, name: str) -> None:
        count = self.random.randint(1, 15)
        keys = [Key(name, self.publisher, self.number + at) for at in range(count)]
        self.number += count
        self.facts.contents.setdefault(name, []).extend(keys)
        for key in keys:
            self.history.publish(key)
        self.in_flight = count
        octets = [body(*key[1:], self.random.choice(OCTETS)) for key in keys]
        self.peer.socket.sendall(b"".join(publish("amq.topic", name, each, PERSISTENT) for each in octets))
        while self.in_flight:
            # In publish order, so that a tag says how many.
            tag = self._expect(commands.Basic.Ack).delivery_tag
            for key in keys[count - self.in_flight : tag - self.tag]:
                self.history.confirm(key)
            self.in_flight = count - (tag - self.tag)
        self.tag += count

    def _remove(self, name: str) -> None:
        keys = self.facts.contents[name]
        for key in keys:
            self.history.ack(key)
        self.facts.queues[name] = None
        self._call(commands.Queue.Delete(queue=name), commands.Queue.DeleteOk)
        self.history.certain(keys)
        self.facts.queues[name] = False
        self.facts.contents[name] = []

    def _call(self, method: base.Frame, reply: type[base.Frame]) -> None:
        self.peer.send(method)
        self._expect(reply)

    def _expect(self, wanted: type[base.Frame]) -> base.Frame:
        method = self.peer.expect(wanted, commands.Connection.Close)
        if isinstance(method, commands.Connection.Close):
            self.closed_by_broker = method.reply_text
            raise ClosedError
        return method


class Importer(threading.Thread):
    """Imports virtual hosts full of queues, with policies, and deletes them; `importing` is set meanwhile."""

    def __init__(self, control: Path, facts: Facts, *, seed: int = 0) -> None:
        super().__init__(name="importer", daemon=True)
        self.control, self.facts = control, facts
        self.random = random.Random(seed)
        self.stopping, self.importing = threading.Event(), threading.Event()
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            for name in list(self.facts.vhosts):
                self._remove(name)
            while not self.stopping.is_set():
                self._work()
        except GoneError:
            pass
        except BaseException as error:
            self.failed = error
            raise

    def _work(self) -> None:
        name, count = f"v{self.random.getrandbits(48):x}", self.random.choice(IMPORTED)
        self.stopping.wait(self.random.uniform(0, PAUSE_S))
        self.facts.vhosts[name] = None
        self._ask("set_policy", name="p", pattern="^k", definition='{"max-length": 100000000}')
        self.importing.set()
        self._ask("import_definitions", lines=_imported(name, count))
        self.importing.clear()
        self.facts.vhosts[name] = count
        self._ask("clear_policy", name="p")
        self._remove(name)

    def _remove(self, name: str) -> None:
        self.facts.vhosts[name] = None
        self._ask("delete_vhost", vhost_name=name)
        self.facts.vhosts[name] = False

    def _ask(self, command: str, *, lines: Iterable[bytes] = (), **args: object) -> None:
        if self.stopping.is_set():
            raise GoneError(command)
        try:
            ask(self.control, command, lines=lines, **args)
        except RefusedError as error:
            if not self.stopping.is_set():
                raise
            raise GoneError(str(error)) from error  # a node that stops ends what was under way

    def cut(self) -> None:
        """Wait for the end after a broker that died."""
        self.stopping.set()
        self.join(WAIT_S)
        assert not self.is_alive(), self.name
        assert self.failed is None, self.failed


def _imported(name: str, count: int) -> list[bytes]:
    queue = {"vhost": name, "durable": True, "auto_delete": False, "arguments": {}}
    exchange = {"vhost": name, "name": "x", "type": "topic", "durable": True, "auto_delete": False, "internal": False}
    binding = {"source": "x", "vhost": name, "destination_type": "queue", "arguments": {}}
    policy = {"vhost": name, "pattern": "^q", "apply-to": "queues", "definition": {"max-length": 9}, "priority": 1}
    return document(
        vhosts=[{"name": name}],
        policies=[{"name": f"p{n}", **policy} for n in range(3)],
        exchanges=[{**exchange, "arguments": {}}],
        queues=[{"name": f"q{n}", **queue} for n in range(count)],
        bindings=[{"destination": f"q{n}", "routing_key": f"k.{n}", **binding} for n in range(min(200, count))],
    )


class Storm:
    """The clients of one lifetime; `numbers` and `facts` go on in the next one."""

    def __init__(self, pick: random.Random, rate: int = 1 << 30) -> None:
        self.pick, self.rate = pick, rate
        self.facts = Facts()
        self.numbers: dict[int, int] = {}
        self.publishers: list[Publisher | Transactor | Declarer] = []
        self.consumers: list[Consumer] = []
        self.importer: Importer | None = None

    def begin(self, address: tuple[str, int], control: Path, history: History) -> None:
        """Connect all clients and let them work."""
        first, seed = self.numbers, partial(self.pick.getrandbits, 31)
        named = (*FANOUT_QUEUES, FANOUT, SOURCE, SOURCE)
        self.publishers = [
            Publisher(address, history, n, named, first=first.get(n, 0), seed=seed(), octets=OCTETS, rate=self.rate)
            for n in range(PUBLISHERS)
        ]
        for n in range(PUBLISHERS, PUBLISHERS + TRANSACTORS):
            self.publishers.append(Transactor(address, history, self.facts, n, first=first.get(n, 0), seed=seed()))
        n = PUBLISHERS + TRANSACTORS
        self.publishers.append(Declarer(address, history, self.facts, n, first=first.get(n, 0), seed=seed()))
        self.consumers = [Consumer(address, history, queue, seed=seed()) for queue in (*FANOUT_QUEUES, TARGET)]
        self.importer = Importer(control, self.facts, seed=seed())
        for client in (*self.publishers, *self.consumers, self.importer):
            client.start()

    def rage(self, seconds: float) -> None:
        """Wait for a moment in an import, in one beside a transaction that needs a declaration, or for any."""
        pick = self.pick
        what = pick.random()
        if what < 0.4:
            self.importer.importing.wait(MOMENT_S)
            time.sleep(pick.uniform(0, 0.5))
        elif what < 0.6:
            self.importer.importing.wait(MOMENT_S)
            pick.choice([each for each in self.publishers if isinstance(each, Transactor)]).moving.wait(MOMENT_S)
            time.sleep(pick.uniform(0, 0.03))
        else:
            time.sleep(pick.uniform(0.1, seconds))

    @property
    def confirmed(self) -> int:
        """Return how many publishes were confirmed one by one."""
        return sum(client.confirmed for client in self.publishers if isinstance(client, Publisher))

    @property
    def in_flight(self) -> int:
        """Return how many publishes have no answer."""
        return sum(client.in_flight for client in self.publishers)

    def check(self) -> None:
        """Fail if a client does not live any more."""
        for client in (*self.publishers, *self.consumers):
            assert client.is_alive(), f"{client.name}: {client.closed_by_broker or repr(client.failed)}"
        assert self.importer.is_alive(), self.importer.failed

    def cut(self) -> None:
        """Let all clients learn that the broker is gone."""
        self.importer.cut()
        for client in (*self.publishers, *self.consumers):
            client.cut()
        misordered = [each.name for each in self.publishers if isinstance(each, Publisher) and each.misordered]
        assert not misordered
        self.numbers = {each.publisher: each.number for each in self.publishers}
