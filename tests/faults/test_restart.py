"""Definitions, messages and their order after a stop and after signal 9: point 4 of the durable store."""

import contextlib
import time
from collections import Counter
from functools import partial

import pytest
from pamqp import commands

from tests.checker import History, Key, body, read_body
from tests.faults.load import Publisher, drain, ready, wait_until
from tests.interop.peer import NO_PROPERTIES, PERSISTENT, Peer

ENDS = ("stop", "kill")


def expiring(milliseconds):
    """Return the properties of a persistent message with a TTL."""
    text = str(milliseconds).encode()
    return b"\x11\x00\x02" + bytes([len(text)]) + text


def of_priority(priority):
    return b"\x18\x00\x02" + bytes([priority])


def again(broker, end):
    """End a broker's life and begin the next."""
    getattr(broker, end)()
    broker.start()


class Client(Peer):
    """A raw client with one channel, which knows how many confirms it has seen."""

    tag = 0

    def confirmed(self, name, *bodies, properties=PERSISTENT, exchange=""):
        """Publish and wait until each is confirmed."""
        for octets in bodies:
            self.publish(exchange, name, octets, properties)
        wanted = self.tag + len(bodies)
        while self.tag < wanted:
            self.tag = self.expect(commands.Basic.Ack).delivery_tag


def client(broker, *, confirms=False):
    """Return a client that has shaken hands."""
    peer = Client(broker.address).open()
    if confirms:
        peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
    return peer


def queue(peer, name, *, durable=True, **arguments):
    arguments = {key.replace("_", "-"): value for key, value in arguments.items()}
    peer.call(commands.Queue.Declare(queue=name, durable=durable, arguments=arguments), commands.Queue.DeclareOk)


def get(peer, name, *, ack=True):
    """Return (body, redelivered) of the head, None of an empty queue."""
    reply = peer.call(commands.Basic.Get(queue=name, no_ack=ack), (commands.Basic.GetOk, commands.Basic.GetEmpty))
    if isinstance(reply, commands.Basic.GetEmpty):
        return None
    return peer.read_content(reply).body, reply.redelivered


def everything(peer, name):
    """Take a queue's messages out and return them."""
    return list(iter(lambda: get(peer, name), None))


def log_octets(broker):
    """Return what the log's segments hold, be it synced or not."""
    found = []
    for path in broker.data.rglob("seg.*"):
        with contextlib.suppress(FileNotFoundError):  # it got its name meanwhile, or is gone
            found.append(path.read_bytes())
    return b"".join(found)


def exists(broker, name):
    with client(broker) as peer:
        replies = (commands.Queue.DeclareOk, commands.Channel.Close)
        return isinstance(
            peer.call(commands.Queue.Declare(queue=name, passive=True), replies), commands.Queue.DeclareOk
        )


@pytest.mark.parametrize("end", ENDS)
def test_transient_queues_and_transient_messages_are_gone(broker, end):
    # F20, F21
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "d")
        queue(peer, "t", durable=False)
        peer.confirmed("d", b"kept")
        peer.confirmed("d", b"gone", properties=NO_PROPERTIES)
        peer.confirmed("t", b"gone")
        peer.confirmed("d", b"kept too")
    again(broker, end)
    assert exists(broker, "d")
    assert not exists(broker, "t")
    with client(broker) as peer:
        assert [octets for octets, _ in everything(peer, "d")] == [b"kept", b"kept too"]


@pytest.mark.parametrize("end", ENDS)
def test_exchanges_bindings_and_arguments_are_there_and_deleted_things_are_not(broker, end):
    # F19
    broker.start()
    with client(broker, confirms=True) as peer:
        for name in ("x", "deleted"):
            method = commands.Exchange.Declare(exchange=name, exchange_type="topic", durable=True)
            peer.call(method, commands.Exchange.DeclareOk)
        peer.call(commands.Exchange.Delete(exchange="deleted"), commands.Exchange.DeleteOk)
        queue(peer, "q", x_max_length=2)
        queue(peer, "deleted")
        peer.confirmed("deleted", b"gone")
        peer.call(commands.Queue.Delete(queue="deleted"), commands.Queue.DeleteOk)
        for key in ("a.#", "b.*"):
            peer.call(commands.Queue.Bind(queue="q", exchange="x", routing_key=key), commands.Queue.BindOk)
        peer.call(commands.Queue.Unbind(queue="q", exchange="x", routing_key="b.*"), commands.Queue.UnbindOk)
    again(broker, end)
    assert not exists(broker, "deleted")
    with client(broker, confirms=True) as peer:
        queue(peer, "q", x_max_length=2)  # the same arguments, or 406
        peer.confirmed("a.1", b"1", b"2", b"3", exchange="x")
        peer.confirmed("b.1", b"unbound", exchange="x")
        assert [octets for octets, _ in everything(peer, "q")] == [b"2", b"3"]
        queue(peer, "deleted")
        assert get(peer, "deleted") is None
        reply = peer.call(commands.Exchange.Declare(exchange="deleted", passive=True), commands.Channel.Close)
        assert reply.reply_code == 404


@pytest.mark.parametrize("end", ENDS)
def test_redelivered_is_as_it_was_after_a_stop_and_true_after_a_kill(broker, end):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q")
        peer.confirmed("q", b"returned", b"unacked", b"fresh")
        assert get(peer, "q", ack=False) == (b"returned", False)
        peer.send(commands.Basic.Reject(1, requeue=True))
        assert get(peer, "q", ack=False) == (b"returned", True)
        assert get(peer, "q", ack=False) == (b"unacked", False)
        peer.send(commands.Basic.Reject(2, requeue=True))
        peer.call(commands.Queue.Declare(queue="q", passive=True), commands.Queue.DeclareOk)
    again(broker, end)
    with client(broker) as peer:
        assert everything(peer, "q") == [(b"returned", True), (b"unacked", True), (b"fresh", end == "kill")]


@pytest.mark.parametrize("end", ENDS)
def test_what_was_acked_and_recorded_does_not_return(broker, end):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q")
        peer.confirmed("q", *(b"%d" % number for number in range(10)))
        for number in range(1, 6):
            get(peer, "q", ack=False)
            peer.send(commands.Basic.Ack(number))
        peer.confirmed("q", b"behind the acks")
    again(broker, end)
    with client(broker) as peer:
        left = [octets for octets, _ in everything(peer, "q")]
    assert left == [b"5", b"6", b"7", b"8", b"9", b"behind the acks"]
    again(broker, end)
    if end == "stop":
        with client(broker) as peer:
            assert everything(peer, "q") == []


@pytest.mark.parametrize("end", ENDS)
def test_a_transaction_is_there_as_a_whole_or_not_at_all(broker, end):
    broker.start()
    with client(broker) as peer:
        queue(peer, "a")
        queue(peer, "b")
        peer.call(commands.Tx.Select(), commands.Tx.SelectOk)
        for name in ("a", "b", "a"):
            peer.publish("", name, b"committed", PERSISTENT)
        with client(broker) as other:
            assert get(other, "a") is None
        peer.call(commands.Tx.Commit(), commands.Tx.CommitOk)
        for name in ("a", "b"):
            peer.publish("", name, b"never committed", PERSISTENT)
        assert get(peer, "b", ack=False) == (b"committed", False)
        peer.send(commands.Basic.Ack(1))
    again(broker, end)
    with client(broker) as peer:
        assert [octets for octets, _ in everything(peer, "a")] == [b"committed"] * 2
        assert [octets for octets, _ in everything(peer, "b")] == [b"committed"]


def test_transactions_under_way_at_a_kill_are_whole(broker):
    broker.start()
    with client(broker) as peer:
        queue(peer, "a")
        queue(peer, "b")
        peer.call(commands.Tx.Select(), commands.Tx.SelectOk)
        answered = 0
        for number in range(300):
            for name in ("a", "b"):
                peer.publish("", name, b"%d" % number, PERSISTENT)
            peer.send(commands.Tx.Commit())
            if number < 250:
                peer.expect(commands.Tx.CommitOk)
                answered += 1
        broker.kill()
    broker.start()
    with client(broker) as peer:
        a, b = ([octets for octets, _ in everything(peer, name)] for name in ("a", "b"))
    assert a == b
    assert a == [b"%d" % number for number in range(len(a))]
    assert len(a) >= answered


def test_what_was_published_without_confirms_is_on_disk_soon(broker):
    broker.start()
    with client(broker) as peer:
        queue(peer, "q")
        for number in range(100):
            peer.publish("", "q", b"unconfirmed %d" % number, PERSISTENT)
        wait_until(lambda: b"unconfirmed 99" in log_octets(broker), "it is written although nobody waits for it")
        again(broker, "kill")
    with client(broker) as peer:
        assert everything(peer, "q") == [(b"unconfirmed %d" % number, True) for number in range(100)]


@pytest.mark.parametrize("end", ENDS)
def test_a_ttl_goes_on_over_a_restart(broker, end):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q")
        queue(peer, "by-queue", x_message_ttl=1_500)
        published = time.monotonic()
        peer.confirmed("q", b"short", properties=expiring(1_500))
        peer.confirmed("q", b"long", properties=expiring(600_000))
        peer.confirmed("by-queue", b"short")
    again(broker, end)
    with client(broker) as peer:
        counts = ready(broker.address, "q")
        if time.monotonic() < published + 1.2:
            assert counts == [2]
        wait_until(lambda: ready(broker.address, "q") == [1], "the short one expires")
        assert time.monotonic() > published + 1.4
        assert [octets for octets, _ in everything(peer, "q")] == [b"long"]
        wait_until(lambda: ready(broker.address, "by-queue") == [0], "so does that of its queue")


@pytest.mark.parametrize("end", ENDS)
def test_priorities_and_their_order_are_kept(broker, end):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q", x_max_priority=5)
        for number in range(30):
            peer.confirmed("q", b"%d" % number, properties=of_priority(number % 3))
    again(broker, end)
    with client(broker) as peer:
        got = [int(octets) for octets, _ in everything(peer, "q")]
    assert got == sorted(range(30), key=lambda number: (-(number % 3), number))


def test_dead_letters_are_neither_lost_nor_doubled(broker):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "dead")
        queue(peer, "q", x_dead_letter_exchange="", x_dead_letter_routing_key="dead", x_message_ttl=200)
        peer.confirmed("q", *(b"%d" % number for number in range(1_000)))
        time.sleep(0.15)
    again(broker, "kill")
    wait_until(lambda: ready(broker.address, "dead") == [1_000], "all are dead")
    with client(broker) as peer:
        assert [octets for octets, _ in everything(peer, "dead")] == [b"%d" % number for number in range(1_000)]
        assert get(peer, "q") is None


def test_dead_letters_over_kills_in_the_middle(broker):
    history = History()
    broker.start()
    with client(broker) as peer:
        queue(peer, "dead")
        queue(peer, "q", x_dead_letter_exchange="", x_dead_letter_routing_key="dead", x_message_ttl=30)
    first = 0
    for _ in range(3):
        publisher = Publisher(broker.address, history, 1, ("q",), first=first, octets=(0, 100), rate=10_000)
        publisher.start()
        wait_until(partial(lambda each: each.confirmed > 200, publisher), "some are confirmed")
        broker.kill()
        publisher.cut()
        first = publisher.number
        history.fault(publisher.in_flight)
        broker.start()
    wait_until(lambda: ready(broker.address, "q") == [0], "all are dead")
    drained = History()
    drain(broker.address, drained, "dead")
    dead = Counter(what for kind, what, _ in drained.events if kind == "deliver")
    sent = {kind: {what for each, what, _ in history.events if each == kind} for kind in ("publish", "confirm")}
    names = {Key("dead", key.publisher, key.number) for key in sent["confirm"]}
    assert len(names) > 500
    assert names - dead.keys() == set()
    assert dead.keys() - {Key("dead", key.publisher, key.number) for key in sent["publish"]} == set()
    assert [key for key, times in dead.items() if times > 1] == []


def test_confirms_leave_in_publish_order_and_a_transient_message_waits_for_those_before_it(broker):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q")
        for number in range(500):
            peer.publish("", "q", body(1, number, 50), PERSISTENT if number % 7 else NO_PROPERTIES)
        tags = [0]
        while tags[-1] < 500:
            tags.append(peer.expect(commands.Basic.Ack).delivery_tag)
        assert tags == sorted(set(tags))
    broker.kill()
    broker.start()
    with client(broker) as peer:
        numbers = [read_body(octets)[1] for octets, _ in everything(peer, "q")]
    assert numbers == [number for number in range(500) if number % 7]


def test_users_virtual_hosts_and_permissions_are_there_after_a_kill(broker):
    broker.start()
    broker.ctl("add_vhost", "v")
    broker.ctl("add_user", "u", "secret")
    broker.ctl("set_permissions", "-p", "v", "u", "a.*", "b.*", "c.*")
    broker.ctl("set_user_tags", "u", "administrator")
    broker.ctl("change_password", "guest", "other")
    before = [broker.ctl(*words) for words in (["list_vhosts"], ["list_users"], ["list_permissions", "-p", "v"])]
    broker.kill()
    broker.start()
    assert [
        broker.ctl(*words) for words in (["list_vhosts"], ["list_users"], ["list_permissions", "-p", "v"])
    ] == before
    broker.ctl("authenticate_user", "u", "secret")
    broker.ctl("authenticate_user", "guest", "other")
    broker.stop()
