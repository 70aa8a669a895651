"""Totals of the node: a model of random flows against a plain count, and nothing ever falls.

The flows go over several channels of several connections that come and go, in and out of transactions, to exchanges and
queues that are deleted and declared again.
"""

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from pybroker.core.stats.metrics import CHANNEL, CONNECTION, CONSUMER, EXCHANGE, GLOBAL, NODE, QUEUE, VHOST
from pybroker.core.stats.totals import AT_LEAST_ONCE, AT_MOST_ONCE, DISABLED
from tests.fakes import Basic, Channel, Confirm, Exchange, Queue, Tx, World
from tests.searches import share

PLAIN, CONFIRM, TX = 1, 2, 3
WAYS = ("ack", "ack", "requeue", "reject")


class Flows:
    """A node and a client of it; `plain` counts what the client sees, by the names of the global counters."""

    def __init__(self) -> None:
        self.world = World()
        self.plain: Counter[str] = Counter()
        self.in_transaction: Counter[str] = Counter()
        self.acked_in_transaction = 0
        self.connect()

    def connect(self) -> None:
        self.peer = self.world.connect()
        for number, mode in ((CONFIRM, Confirm.Select()), (TX, Tx.Select())):
            self.peer.call(Channel.Open(), channel=number)
            self.peer.call(mode, channel=number)
        self.declare()
        self.consumed: dict[str, bool] = {}
        self.unacked: dict[int, list[int]] = {PLAIN: [], TX: []}

    def declare(self) -> None:
        self.peer.call(Exchange.Declare(exchange="x", exchange_type="fanout"))
        for queue in "ab":
            self.peer.declare(queue)
            self.peer.call(Queue.Bind(queue=queue, exchange="x"))

    def publish(self, number: int, exchange: str, key: str, count: int, mandatory: bool) -> None:
        frames = [self.peer.publish_frames(exchange, key, b"x", mandatory) for _ in range(count)]
        self.peer.send(*[frame for parts in frames for frame in parts], channel=number)
        self.plain["received"] += count
        self.plain["received_confirm"] += count * (number != PLAIN)
        self.plain["confirmed"] += count * (number == CONFIRM)
        to = self.in_transaction if number == TX else self.plain
        routed = 2 if exchange else len(key) == 1
        to["routed"] += count * routed
        to["unroutable_returned" if mandatory else "unroutable_dropped"] += count * (not routed)
        to["published"] += count

    def seen(self) -> None:
        """Count what has come meanwhile."""
        for number in (PLAIN, CONFIRM, TX):
            for content in self.peer.take(number):
                method = getattr(content, "method", None)
                if method is None or isinstance(method, Basic.Return):
                    continue
                got = isinstance(method, Basic.GetOk)
                no_ack = self.last_no_ack if got else self.consumed[method.consumer_tag]
                self.plain["delivered"] += 1
                way = "get" if got else "consume"
                self.plain[f"delivered_{way}_{'auto' if no_ack else 'manual'}_ack"] += 1
                self.plain["redelivered"] += method.redelivered
                if not no_ack:
                    self.unacked[number].append(method.delivery_tag)

    def get(self, number: int, queue: str, no_ack: bool) -> None:
        self.seen()
        self.last_no_ack = no_ack
        empty = not self.world.vhost.queues[queue].messages_ready
        self.peer.send(Basic.Get(queue=queue, no_ack=no_ack), channel=number)
        self.plain["get_empty"] += empty

    def consume(self, queue: str, no_ack: bool) -> None:
        tag = f"{queue}{no_ack}"
        if self.consumed.get(tag) is None:
            self.consumed[tag] = no_ack
            self.peer.send(Basic.Consume(queue=queue, no_ack=no_ack, consumer_tag=tag))

    def cancel(self) -> None:
        for tag in list(self.peer.session.channels[PLAIN].consumers):
            self.peer.send(Basic.Cancel(consumer_tag=tag))
            self.seen()
            del self.consumed[tag]

    def settle(self, number: int, way: str) -> None:
        self.seen()
        tags = self.unacked.get(number, [])
        if not tags:
            return
        tag = tags.pop(0)
        if way == "ack":
            self.peer.send(Basic.Ack(delivery_tag=tag), channel=number)
            if number == TX:
                self.acked_in_transaction += 1
            else:
                self.plain["acknowledged"] += 1
        else:
            self.peer.send(Basic.Nack(delivery_tag=tag, requeue=way == "requeue"), channel=number)

    def commit(self) -> None:
        self.seen()
        self.peer.send(Tx.Commit(), channel=TX)
        self.plain += self.in_transaction
        self.plain["acknowledged"] += self.acked_in_transaction
        self.forget()

    def outstanding(self, number: int) -> list[int]:
        batches = self.peer.session.channels[number].unacked
        return [tag for batch in batches for tag in range(batch.first_tag, batch.last_tag + 1)]

    def rollback(self) -> None:
        self.seen()
        self.peer.send(Tx.Rollback(), channel=TX)
        self.unacked[TX] = self.outstanding(TX)
        self.forget()

    def forget(self) -> None:
        self.in_transaction.clear()
        self.acked_in_transaction = 0

    def delete(self) -> None:
        """Delete an exchange and a queue, and declare both again; a transaction would lose what it routed there."""
        self.commit()
        self.cancel()
        self.peer.send(Exchange.Delete(exchange="x"), Queue.Delete(queue="a"))
        self.seen()
        self.unacked = {number: self.outstanding(number) for number in (PLAIN, TX)}
        self.declare()

    def reconnect(self, polite: bool) -> None:
        self.seen()
        if polite:
            for number in (PLAIN, CONFIRM, TX):
                self.peer.send(Channel.Close(200, "", 0, 0), channel=number)
        self.peer.disconnect()
        self.forget()
        self.connect()

    def check(self) -> None:
        self.seen()
        broker = self.world.broker
        for name in GLOBAL.keys() - {"publishers", "consumers"}:
            assert GLOBAL[name].read(broker) == self.plain[name], name
        assert NODE["publish"].read(broker) == self.plain["published"]


NUMBER = st.sampled_from((PLAIN, CONFIRM, TX))
STEPS = st.one_of(
    st.tuples(
        st.just("publish"),
        NUMBER,
        st.sampled_from(("", "", "x")),
        st.sampled_from(("a", "b", "nowhere")),
        st.integers(1, 4),
        st.booleans(),
    ),
    st.tuples(st.just("get"), st.sampled_from((PLAIN, TX)), st.sampled_from("ab"), st.booleans()),
    st.tuples(st.just("consume"), st.sampled_from("ab"), st.booleans()),
    st.tuples(st.just("cancel")),
    st.tuples(st.just("settle"), st.sampled_from((PLAIN, PLAIN, TX)), st.sampled_from(WAYS)),
    st.tuples(st.just("commit")),
    st.tuples(st.just("rollback")),
    st.tuples(st.just("delete")),
    st.tuples(st.just("reconnect"), st.booleans()),
)


@pytest.mark.search
@given(st.lists(STEPS, max_size=40))
@settings(max_examples=share(60, 2_000))
def test_any_flow_is_counted_as_its_client_counts_it(steps):
    flows = Flows()
    before: dict[str, int] = {}
    for name, *arguments in steps:
        getattr(flows, name)(*arguments)
        flows.check()
        broker = flows.world.broker
        now = {f"{each}": metric.read(broker) for each, metric in NODE.items() if metric.type == "counter"}
        assert all(now[each] >= value for each, value in before.items())
        before = now
    agree(flows)


def agree(flows: Flows) -> None:
    """Check that the nouns that are there count what their parts count."""
    vhost, session = flows.world.vhost, flows.peer.session
    for name in ("publish_in", "publish_out"):
        mine = sum(EXCHANGE[name].read(exchange) for exchange in vhost.exchanges.values())
        assert VHOST[name.removesuffix("_in")].read(vhost) >= mine
    for name in ("deliver", "deliver_no_ack", "get", "get_no_ack", "get_empty", "redeliver", "ack"):
        assert VHOST[name].read(vhost) >= sum(QUEUE[name].read(queue) for queue in vhost.queues.values()), name
    channels = session.channels.values()
    for name, of_channel in (("publish", "publish"), ("deliver_get", "deliver_get"), ("ack", "ack")):
        assert CONNECTION[name].read(session) == sum(CHANNEL[of_channel].read(channel) for channel in channels)
    for channel in channels:
        consumers = channel.consumers.values()
        delivered = sum(CONSUMER["deliver"].read(consumer) for consumer in consumers)
        assert delivered <= CHANNEL["deliver"].read(channel) + CHANNEL["deliver_no_ack"].read(channel)
        assert sum(CONSUMER["ack"].read(consumer) for consumer in consumers) <= CHANNEL["ack"].read(channel)


def test_dead_letters_are_told_apart_by_what_their_queues_do_with_them():
    world = World()
    peer, totals = world.connect(), world.broker.totals
    forwards = {"x-dead-letter-exchange": "amq.fanout"}
    lasts = {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish", "x-queue-type": "quorum"}
    for strategy, arguments in ((DISABLED, {}), (AT_MOST_ONCE, forwards), (AT_LEAST_ONCE, {**forwards, **lasts})):
        peer.declare(strategy, durable=True, arguments=arguments)
        assert totals.of_death(world.vhost.queues[strategy].limits) is totals.deaths[strategy]
