"""MessageTrace: follows messages for one operator, and reports what happens to them as events.

Events are plain objects: `event`, `message` (its number in the trace), `timestamp_in_ms`, `after_ms` since its publish,
and facts. A trace ends when the requested number of messages has settled, when its time is up, or when it is stopped.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.channel.receipt import Receipt
from pybroker.core.message_trace.events import EventBuffer
from pybroker.core.message_trace.facts import of_content, of_names, state_of
from pybroker.core.message_trace.followed import DELAYED, DYING, READY, REFUSED, UNACKNOWLEDGED, Copy, Followed
from pybroker.core.message_trace.guard import Guard
from pybroker.core.message_trace.waiting import why_waiting
from pybroker.core.policy.limits import OVERFLOWS
from pybroker.run import known_deliveries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pybroker.core.message_trace.criteria import Criteria
    from pybroker.core.message_trace.path import Paths
    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost
    from pybroker.run import Entry, Names, Run, RunAttributes

Facts = dict[str, Any]

_OVERFLOW: Final = {number: name for name, number in OVERFLOWS.items()}

# Messages that one trace follows.
MESSAGES_MAX: Final = 1_000
# Copies of them at one time; further ones are told of, and not followed.
COPIES_MAX: Final = 10_000
# Queues of one message that are told one by one.
ROUTED_MAX: Final = 100
# A message that is ready for so long, or unacknowledged, is told why, or with whom.
WAITING_MS: Final = 1_000


class MessageTrace:
    """A trace in one virtual host. `over` is why it has ended, empty while it runs."""

    __slots__ = (
        "_by_seq",
        "_copies",
        "_count",
        "_criteria",
        "_deadline_ms",
        "_events",
        "_followed",
        "_stop",
        "over",
        "seen",
        "vhost",
    )

    def __init__(
        self, vhost: "VHost", criteria: "Criteria", count: int, duration_ms: int, stop: "Callable[[MessageTrace], None]"
    ) -> None:
        self.vhost = vhost
        self._criteria = criteria
        self._count = min(count, MESSAGES_MAX)
        self._deadline_ms = vhost.broker.clock.now_ms + duration_ms
        self._stop = stop
        self._by_seq: dict[int, Followed] = {}
        self._followed: dict[Followed, None] = {}  # that are not settled
        self._copies = 0
        self._events = EventBuffer()
        self.seen = 0
        self.over = ""

    # -- for its reader -----------------------------------------------------------------------------------------------

    def poll(self, most: int) -> list[Facts]:
        """Remove the oldest events and return them."""
        self.check()
        return self._events.pop(most)

    def stop(self, why: str) -> None:
        """End the trace; report where unsettled messages are. Idempotent."""
        if self.over:
            return
        now_ms = self.vhost.broker.clock.now_ms
        for followed in list(self._followed):
            for copy in followed.copies.values():
                self.report(followed, "unsettled", **state_of(copy, now_ms))
            if followed.transaction is not None:
                self.report(followed, "unsettled", state="transaction")
            elif followed.storing and not followed.copies:
                self.report(followed, "unsettled", state="storing")
        self.over = why
        facts = {"event": "ended", "why": why, "messages": self.seen, "unsettled": len(self._followed)}
        self._events.add({**facts, "timestamp_in_ms": self.vhost.broker.clock.timestamp_ms})
        self._followed.clear()
        self._by_seq.clear()
        self._stop(self)

    def abandon(self) -> None:
        """End the trace after a bug, so that it does not affect messages any further. Idempotent."""
        if self.over:
            return
        self.over = "bug"
        self._events.clear()
        self._events.add({"event": "ended", "why": "bug", "messages": self.seen, "unsettled": len(self._followed)})
        self._followed.clear()
        self._by_seq.clear()
        self._stop(self)

    def check(self) -> None:
        """Detect what no hook reports: the end of its time, a rollback, a failure of the log, messages that wait."""
        broker = self.vhost.broker
        if self.over:
            return
        now_ms = broker.clock.now_ms
        for followed in list(self._followed):
            self._look_at(followed, now_ms)
        if broker.vhosts.get(self.vhost.name) is not self.vhost:
            self.stop("vhost_deleted")
        elif now_ms >= self._deadline_ms:
            self.stop("duration")

    def _look_at(self, followed: Followed, now_ms: int) -> None:
        if followed.transaction is not None:
            channel, transaction = followed.transaction
            if channel.transaction is not transaction:
                followed.entered()
                self.report(followed, "rolled_back")
        elif not followed.has_entered:
            followed.entered()
            self.report(followed, "not_taken")  # immediate, and no consumer could have it
        for receipt in list(followed.storing):
            if receipt.failed:
                followed.storing.remove(receipt)
                self.report(followed, "not_stored", why=receipt.failed)
        for copy in followed.copies.values():
            if now_ms - copy.since_ms >= WAITING_MS:
                self._tell_waiting(followed, copy, now_ms)
        self._settle_if_done(followed)

    def _tell_waiting(self, followed: Followed, copy: Copy, now_ms: int) -> None:
        facts = why_waiting(copy.queue) if copy.state == READY else {}
        if copy.state == UNACKNOWLEDGED:
            facts = {"why": UNACKNOWLEDGED, **copy.holder}
        if facts and copy.waits_anew(facts["why"]):
            self.report(followed, "waiting", queue=copy.queue.name, for_ms=now_ms - copy.since_ms, **facts)

    # -- in -----------------------------------------------------------------------------------------------------------

    def wants(self, exchange: str, content: bytes, queues: "Iterable[Destination]") -> bool:
        """Tell whether to follow this message."""
        return self.seen < self._count and not self.over and self._criteria.want(exchange, content, queues)

    def may_want(self, exchange: str, queues: "Iterable[Destination]") -> bool:
        """Tell whether messages that are published to `exchange` and go to `queues` may be followed."""
        return self.seen < self._count and self._criteria.may_want(exchange, queues)

    def _follow(self, start_ms: int) -> Followed:
        """Follow one more message."""
        self.seen += 1
        if self.seen == self._count:
            self.vhost.bump()  # routes need not be looked at any more
        followed = Followed(self.seen, start_ms)
        self._followed[followed] = None
        return followed

    def published(
        self, names: "Names", content: bytes, facts: Facts, transaction: "tuple[Any, Any] | None"
    ) -> Followed:
        """Follow a message from its publish on; `facts` has the publisher. The caller reports where it goes."""
        followed = self._follow(self.vhost.broker.clock.now_ms)
        followed.waits_for(transaction)
        self.report(followed, "published", **of_names(names), **facts, **of_content(content))
        return followed

    def found(self, queue: str, run: "Run", content: bytes, deliveries: int) -> Followed:
        """Follow a message that is in a queue already."""
        followed = self._follow(run.arrived_ms)
        times = known_deliveries(deliveries)
        facts = {"persistent": run.attributes.persistent, "deliveries": times, **of_content(content)}
        self.report(followed, "found", queue=queue, **of_names(run.names), **facts)
        followed.entered()
        return followed

    def found_delayed(self, names: "Names", attributes: "RunAttributes", content: bytes) -> Followed:
        """Follow a scheduled message that is due now."""
        followed = self._follow(self.vhost.broker.clock.now_ms)
        facts = {"persistent": attributes.persistent, "deliveries": 0, **of_content(content)}
        self.report(followed, "found", queue="", **of_names(names), **facts)
        followed.entered()
        return followed

    def routed(self, followed: Followed, queues: "Sequence[Destination]", paths: "Paths", *, persistent: bool) -> None:
        """Report the queues that a message goes to, with the path to each."""
        for queue in queues[:ROUTED_MAX]:
            path, is_kept = [step.facts() for step in paths.to.get(queue, ())], persistent or queue.retains
            self.report(followed, "routed", queue=queue.name, path=path, durable=queue.durable and is_kept)
        if len(queues) > ROUTED_MAX:
            self.report(followed, "routed", queue="", more=len(queues) - ROUTED_MAX)

    def delayed(self, followed: Followed, exchange: str, due_in_ms: int, due_ms: int) -> None:
        """Report that a message waits in a delayed exchange until it is due."""
        self.report(followed, "delayed", exchange=exchange, due_in_ms=due_in_ms, due_timestamp_in_ms=due_ms)

    def record(self, followed: Followed, name: str, **facts: Any) -> None:
        """Report what happened to a message, and its settlement if that was the last of it."""
        self.report(followed, name, **facts)
        self._settle_if_done(followed)

    def end(self, followed: Followed) -> None:
        """Report the settlement of a message that no queue takes."""
        followed.entered()
        self._settle_if_done(followed)

    def note(self, name: str, **facts: Any) -> None:
        """Report something that is about no message that is followed."""
        if not self.over:
            self._events.add({"event": name, "timestamp_in_ms": self.vhost.broker.clock.timestamp_ms, **facts})

    def entered(
        self, followed: Followed, run: "Run", index: int, queues: "Sequence[Destination]", receipt: Receipt
    ) -> None:
        """Note the seq of a message that is being enqueued."""
        if self.over:
            return
        followed.entered([queue.name for queue in queues if queue.retains])
        seq, now_ms = run.first_seq + index, self.vhost.broker.clock.now_ms
        for queue in [queue for queue in queues if not queue.retains]:
            self._add(followed, queue, seq, DELAYED if queue.republishes else READY, now_ms)
        if run.attributes.persistent and any(queue.durable for queue in queues):
            if receipt.log is None:
                # Of what the broker publishes itself; it was appended a moment ago.
                receipt = Receipt()
                receipt.wait(queues[0].log, queues[0].log.commit_position)
            followed.storing.append(receipt)
            self.vhost.broker.handovers.when_stored(receipt, partial(self._stored, followed, receipt))

    def _add(self, followed: Followed, queue: "Destination", seq: int, state: str, now_ms: int) -> Copy | None:
        if self._copies >= COPIES_MAX:
            self.report(followed, "not_followed", queue=queue.name)
            return None
        self._copies += 1
        self._by_seq[seq] = followed
        copy = Copy(queue, seq, state, now_ms)
        followed.add(copy)
        return copy

    def _stored(self, followed: Followed, receipt: Receipt) -> None:
        with Guard(self):
            if not self.over and receipt in followed.storing:
                followed.storing.remove(receipt)
                self.record(followed, "stored", position=receipt.position)

    # -- what happens in queues ---------------------------------------------------------------------------------------

    def delivered(
        self, queue: "Queue", run: "Run", indexes: range, deliveries: int, holder: "Callable[[], Facts]"
    ) -> None:
        """Note a delivery; `holder` tells to whom, and whether that settles the messages."""
        for followed, copy in self._copies_of(queue, run, indexes, deliveries):
            facts = holder()
            copy.become(UNACKNOWLEDGED, self.vhost.broker.clock.now_ms, facts)
            if facts["auto_ack"]:
                self._drop(followed, copy)
            again = {"redelivered": deliveries != 0, "deliveries": known_deliveries(deliveries)}
            self.record(followed, "delivered", queue=queue.name, **again, **facts)

    def answered(
        self, queue: "Queue", run: "Run", indexes: range, deliveries: int, outcome: str, by: "Callable[[], Facts]"
    ) -> None:
        """Note that messages were acknowledged, rejected or returned; `by` tells by whom."""
        for followed, copy in self._copies_of(queue, run, indexes, deliveries):
            facts = by() or {key: value for key, value in copy.holder.items() if key != "auto_ack"}
            if outcome == "ack":
                self._drop(followed, copy)
                self.record(followed, "acknowledged", queue=queue.name, **facts)
            elif outcome == "requeue":
                copy.become(READY, self.vhost.broker.clock.now_ms)
                self.record(followed, "requeued", queue=queue.name, **facts)
            else:
                self._dies(followed, copy, queue, "rejected", facts)

    def changed(self, queue: "Queue", entry: "Entry", state: str, name: str, facts: Facts) -> None:
        """Note a new state of messages."""
        for followed, copy in self._copies_of(queue, entry.run, entry.indexes, entry.deliveries):
            copy.become(state, self.vhost.broker.clock.now_ms)
            self.record(followed, name, queue=queue.name, deliveries=known_deliveries(entry.deliveries), **facts)

    def left(self, queue: "Queue", run: "Run", indexes: range, deliveries: int, reason: str) -> None:
        """Note that messages expire, exceed a limit or die otherwise."""
        for followed, copy in self._copies_of(queue, run, indexes, deliveries):
            if copy.state == REFUSED:
                copy.become(DYING, copy.since_ms)
            else:
                self._dies(followed, copy, queue, reason, {})

    def _dies(self, followed: Followed, copy: Copy, queue: "Queue", reason: str, facts: Facts) -> None:
        exchange = queue.limits.dead_letter_exchange
        if exchange is None:
            self._drop(followed, copy)
        else:
            copy.become(DYING, self.vhost.broker.clock.now_ms)
        self.record(followed, reason, queue=queue.name, dead_letter_exchange=exchange, **facts)

    def refused(self, queue: "Queue", run: "Run", indexes: range, *, dies: bool) -> None:
        """Note that a full queue refused messages."""
        for followed, copy in self._copies_of(queue, run, indexes, 0):
            if dies:
                copy.become(REFUSED, self.vhost.broker.clock.now_ms)
            else:
                self._drop(followed, copy)
                if not followed.copies:
                    followed.storing.clear()  # the log has it, and has it settled
            limits = queue.limits
            facts = {
                "max_length": limits.length_max,
                "max_length_bytes": limits.octets_max,
                "overflow": _OVERFLOW[limits.overflow],
            }
            self.record(followed, "refused", queue=queue.name, messages_ready=queue.messages_ready, **facts)

    def gone(self, queue: "Destination", name: str, has: "Callable[[int, str], bool]") -> None:
        """Note that copies are gone: those for whose seq and state `has` returns true."""
        for followed in list(self._followed):
            for copy in list(followed.copies.values()):
                if copy.queue is queue and has(copy.seq, copy.state):
                    self._drop(followed, copy)
                    self.record(followed, name, queue=queue.name, state=copy.state)

    # -- from one queue to others -------------------------------------------------------------------------------------

    def leaving(
        self, queue: "Destination", run: "Run", indexes: range, deliveries: int, targets: "Sequence[Destination]" = ()
    ) -> "Iterator[tuple[Followed, int]]":
        """Yield the followed messages of a range with their seqs; begin to follow further ones that match."""
        for followed, copy in self._copies_of(queue, run, indexes, deliveries, targets):
            yield followed, copy.seq

    def of_seq(self, queue: "Destination", seq: int) -> "Followed | None":
        """Return the followed message with this seq in a queue, or None."""
        followed = self._by_seq.get(seq)
        return followed if followed is not None and (queue, seq) in followed.copies else None

    def moves_on(self, followed: Followed, queue: "Destination", seq: int, name: str, **facts: Any) -> None:
        """Note that a copy ends and becomes others, which `entered` adds."""
        copy = followed.copies.get((queue, seq))
        if copy is not None:
            self._drop(followed, copy)
        self.report(followed, name, queue=queue.name, **facts)

    def ends(self, followed: Followed, queue: "Destination", seq: int, name: str, **facts: Any) -> None:
        """Note that a copy ends."""
        self.moves_on(followed, queue, seq, name, **facts)
        self._settle_if_done(followed)

    def stays(self, followed: Followed, queue: "Destination", seq: int, why: str) -> None:
        """Note that a dead letter cannot leave now; report each reason once."""
        copy = followed.copies.get((queue, seq))
        if copy is not None and copy.waits_anew(why):
            self.report(followed, "waiting", queue=queue.name, why="dead_letter", text=why)

    # -- within -------------------------------------------------------------------------------------------------------

    def _copies_of(
        self, queue: "Destination", run: "Run", indexes: range, deliveries: int, targets: "Sequence[Destination]" = ()
    ) -> "Iterator[tuple[Followed, Copy]]":
        """Yield the followed messages of a range with their copies; begin to follow further ones that match."""
        if self.over:
            return
        first, by_seq = run.first_seq, self._by_seq
        if len(indexes) <= len(by_seq):
            mine = [first + index for index in indexes if first + index in by_seq]
        else:
            mine = [seq for seq in by_seq if seq - first in indexes]
        if self.seen < self._count:
            mine += self._adopt(queue, run, indexes, deliveries, (queue, *targets))
        now_ms = self.vhost.broker.clock.now_ms
        for seq in mine:
            followed = by_seq.get(seq)
            if followed is None:
                continue  # it ended with another one of these
            copy = followed.copies.get((queue, seq)) or self._add(followed, queue, seq, READY, now_ms)
            if copy is not None:
                yield followed, copy

    def _adopt(
        self, queue: "Destination", run: "Run", indexes: range, deliveries: int, queues: "Sequence[Destination]"
    ) -> list[int]:
        """Follow matching messages that were published before the trace began, or reached a queue another way."""
        if not self._criteria.may_want(run.names.exchange, queues):
            return []
        found = []
        for index in indexes:
            seq = run.first_seq + index
            if seq in self._by_seq:
                continue
            content = run.content(index)
            if not self.wants(run.names.exchange, content, queues):
                if self.seen >= self._count:
                    break
                continue
            followed = self.found(queue.name, run, content, deliveries)
            self._add(followed, queue, seq, READY, self.vhost.broker.clock.now_ms)
            found.append(seq)
        return found

    def _drop(self, followed: Followed, copy: Copy) -> None:
        self._copies -= 1
        if followed.remove(copy):
            del self._by_seq[copy.seq]

    def _settle_if_done(self, followed: Followed) -> None:
        if followed.is_over or not followed.is_settled:
            return
        followed.end()
        self.report(followed, "settled", streams=followed.streams)
        self._followed.pop(followed, None)
        if self.seen >= self._count and not self._followed:
            self.stop("count")

    def report(self, followed: Followed, name: str, **facts: Any) -> None:
        """Report what happened to a message, which goes on."""
        clock = self.vhost.broker.clock
        after_ms = clock.now_ms - followed.start_ms
        head = {"event": name, "message": followed.number, "timestamp_in_ms": clock.timestamp_ms, "after_ms": after_ms}
        if not self.over:
            self._events.add({**head, **facts})
