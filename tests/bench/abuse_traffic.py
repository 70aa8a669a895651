"""Abuses of bench_abuse.py by consumers, channels, messages, octets, sockets, and by operators."""

import socket
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from pamqp import commands

from tests.bench.bench_abuse import Client, abuse, bind, octets, publish

Basic, Channel, Queue, Tx = commands.Basic, commands.Channel, commands.Queue, commands.Tx


# -- consumers and channels -------------------------------------------------------------------------------------------


def subscribe(c, queue, count, **options):
    make = options.pop("arguments", lambda _: {})
    c.many(
        count,
        lambda i: octets(Basic.Consume(queue=queue, consumer_tag=f"t{i}", nowait=True, arguments=make(i), **options)),
    )


@abuse
def consumers_vanish(field):
    """10,000 consumers of one queue with 20,000 unacknowledged messages vanish."""
    c = field.client()
    c.declare("cv", exclusive=True)
    subscribe(c, "cv", field.n(10_000))
    c.many(field.n(20_000), lambda _: publish("", "cv"))
    c.vanish()
    time.sleep(2)


@abuse
def consumers_100k(field):
    """100,000 consumers of one queue, if they are let."""
    c = field.client()
    c.declare("ck", exclusive=True)
    subscribe(c, "ck", field.n(100_000))
    c.vanish()
    time.sleep(2)


@abuse
def consumers_cancelled(field):
    """10,000 single active consumers are cancelled one by one, the active one first."""
    c = field.client()
    c.declare("cc", exclusive=True, arguments={"x-single-active-consumer": True})
    subscribe(c, "cc", field.n(10_000))
    c.many(field.n(10_000), lambda i: octets(Basic.Cancel(f"t{i}", nowait=True)))


@abuse
def consumers_of_deleted(field):
    """A queue with 10,000 consumers is deleted."""
    c = field.client()
    c.declare("cd")
    subscribe(c, "cd", field.n(10_000))
    c.call(Queue.Delete(queue="cd"), Queue.DeleteOk)


@abuse
def consumer_priorities(field):
    """10,000 consumers, each of its own priority, and 10,000 messages."""
    c = field.client()
    c.declare("cp", exclusive=True)
    c.call(Basic.Qos(prefetch_count=1), Basic.QosOk)
    subscribe(c, "cp", field.n(10_000), arguments=lambda i: {"x-priority": i})
    c.many(field.n(10_000), lambda _: publish("", "cp"))


@abuse
def channels(field):
    """Five connections open 2,000 channels each, close them and vanish, twice."""
    for _ in range(2):
        five = [field.client(channels=field.n(2_000)) for _ in range(5)]
        for c in five:
            close = [octets(Channel.Close(200, "", 0, 0), channel=n) for n in range(2, field.n(2_000) + 1)]
            c.send(b"".join(close))
            c.sync()
            c.vanish()


@abuse
def gets(field):
    """100,000 times basic.get of an empty queue, pipelined."""
    c = field.client()
    c.declare("gt", exclusive=True)
    c.many(field.n(100_000), lambda _: octets(Basic.Get(queue="gt")))


@abuse
def slow_reader(field):
    """A consumer of 200,000 messages of 1 KiB that does not read."""
    c, d = field.client(), field.client()
    c.declare("sr")
    d.send(octets(Basic.Consume(queue="sr", no_ack=True)))
    c.many(field.n(200_000), lambda _: publish("", "sr", b"x" * 1_024))
    c.call(Queue.Delete(queue="sr"), Queue.DeleteOk)


# -- messages ---------------------------------------------------------------------------------------------------------


def backlog(c, queue, count, **properties):
    thousand = publish("", queue, **properties) * 1_000
    for _ in range(count // 1_000):
        c.send(thousand)
    c.sync()


@abuse
def nack_all(field):
    """500,000 unacknowledged messages are given back at once, by one nack."""
    c = field.client()
    c.declare("na", exclusive=True)
    count = field.n(500_000) // 1_000 * 1_000
    backlog(c, "na", count)
    c.send(octets(Basic.Consume(queue="na", consumer_tag="t")))
    c.swallow(count)
    c.send(octets(Basic.Cancel("t", nowait=True), Basic.Nack(0, multiple=True, requeue=True)))
    c.sync()


@abuse
def unacked_vanish(field):
    """A connection with 500,000 unacknowledged messages vanishes."""
    c, d = field.client(), field.client()
    c.declare("uv")
    count = field.n(500_000) // 1_000 * 1_000
    backlog(c, "uv", count)
    c.send(octets(Basic.Consume(queue="uv", consumer_tag="t")))
    c.swallow(count)
    c.vanish()
    time.sleep(2)
    d.call(Queue.Delete(queue="uv"), Queue.DeleteOk)


def held_apart(c, queue, count):
    """Let a consumer have messages of changing routing keys, unacknowledged: no two of them are kept together."""
    c.declare(queue, exclusive=True)
    c.send(bind(queue, "amq.topic", "#.apart"))
    made = [publish("amq.topic", f"{i}.apart", b"x" * (1 + i % 3)) for i in range(7)]
    c.many(count, lambda i: made[i % 7])
    c.send(octets(Basic.Consume(queue=queue, consumer_tag="t", nowait=True)))
    c.swallow(count)


@abuse
def apart_vanish(field):
    """A connection with 100,000 unacknowledged messages of changing routing keys vanishes."""
    c = field.client()
    held_apart(c, "av", field.n(100_000))
    c.vanish()
    time.sleep(2)


@abuse
def apart_recovered(field):
    """100,000 messages of changing routing keys are given back, and delivered again, by one recover."""
    c = field.client()
    held_apart(c, "ar", field.n(100_000))
    c.call(Basic.Recover(requeue=True), Basic.RecoverOk)
    time.sleep(2)


@abuse
def apart_acked(field):
    """100,000 messages of changing routing keys are acknowledged at once."""
    c = field.client()
    held_apart(c, "aa", field.n(100_000))
    c.send(octets(Basic.Ack(delivery_tag=0, multiple=True)))
    c.sync()


@abuse
def purge(field):
    """A queue of a million messages is purged."""
    c = field.client()
    c.declare("pu", exclusive=True)
    backlog(c, "pu", field.n(1_000_000))
    c.call(Queue.Purge(queue="pu"), Queue.PurgeOk)


@abuse
def delete_full(field):
    """A durable queue of 500,000 persistent messages is deleted."""
    c = field.client()
    c.declare("df", durable=True)
    backlog(c, "df", field.n(500_000), delivery_mode=2)
    c.call(Queue.Delete(queue="df"), Queue.DeleteOk)


@abuse
def expiring_messages(field):
    """300,000 messages expire at the same moment."""
    c = field.client()
    c.declare("em", exclusive=True, arguments={"x-message-ttl": 4_000})
    backlog(c, "em", field.n(300_000))
    time.sleep(5)


@abuse
def dead_letter_cycle(field):
    """20,000 messages go round two queues that dead-letter into each other at once."""
    c = field.client()
    for name, other in (("dc0", "dc1"), ("dc1", "dc0")):
        to = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": other, "x-message-ttl": 0}
        c.declare(name, exclusive=True, arguments=to)
    c.many(field.n(20_000), lambda _: publish("", "dc0"))
    time.sleep(2)


@abuse
def dead_letter_all(field):
    """100,000 messages are rejected into a dead letter exchange by one nack."""
    c = field.client()
    c.declare("da", exclusive=True, arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    c.declare("dead", exclusive=True)
    count = field.n(100_000) // 1_000 * 1_000
    backlog(c, "da", count)
    c.send(octets(Basic.Consume(queue="da", consumer_tag="t")))
    c.swallow(count)
    c.send(octets(Basic.Nack(0, multiple=True, requeue=False)))
    time.sleep(3)
    c.sync()


@abuse
def drop_head(field):
    """200,000 messages into a queue that keeps ten."""
    c = field.client()
    c.declare("dh", exclusive=True, arguments={"x-max-length": 10})
    backlog(c, "dh", field.n(200_000))


@abuse
def transaction(field):
    """A transaction of 50,000 messages is committed, and one of as many rolled back."""
    c = field.client()
    c.declare("tx", exclusive=True)
    c.call(Tx.Select(), Tx.SelectOk)
    for end, ok in ((Tx.Commit(), Tx.CommitOk), (Tx.Rollback(), Tx.RollbackOk)):
        backlog(c, "tx", field.n(50_000) // 1_000 * 1_000)
        c.call(end, ok)


# -- octets and sockets -----------------------------------------------------------------------------------------------


@abuse
def logins(field):
    """1,000 connections log in and vanish at once."""
    for _ in range(field.n(1_000)):
        field.client()
    for c in field.clients:
        c.vanish()
    time.sleep(1)


@abuse
def half_open(field):
    """2,000 sockets that say nothing, or half a header."""
    sockets = [socket.create_connection(("127.0.0.1", field.port)) for _ in range(field.n(800))]
    for i, each in enumerate(sockets):
        each.send(b"AMQP\0\0\x09\1"[: i % 8] or b"A")
    time.sleep(2)
    for each in sockets:
        each.close()


@abuse
def unfinished_bodies(field):
    """20 bodies of 16 MB that never end."""
    twenty = [field.client() for _ in range(20)]
    whole = publish("", "nowhere", bytes(100_000))
    head = whole[:-100_008].replace((100_000).to_bytes(8), (16_000_000).to_bytes(8))
    for c in twenty:
        c.send(head)
    for _ in range(100):
        for c in twenty:
            c.send(whole[-100_008:])


@abuse
def garbage(field):
    """500 connections that send noise after the handshake."""
    for _ in range(field.n(500)):
        c = Client(field.port)
        c.send(b"\xff" * 1_000)
        c.vanish()


@abuse
def deep_tables(field):
    """200 declarations with a table nested 1,000 deep."""
    deep = b"\0\0\0\0"
    for _ in range(1_000):
        deep = (len(deep) + 3).to_bytes(4) + b"\1kF" + deep
    payload = b"\0\x32\0\x0a\0\0\2dt\0" + deep
    for _ in range(field.n(200)):
        c = Client(field.port)
        c.send(b"\1\0\1" + len(payload).to_bytes(4) + payload + b"\xce")
        c.vanish()


# -- operators --------------------------------------------------------------------------------------------------------


@abuse
def ctl_policies(field):
    """Four policies are set and cleared over 20,000 queues."""
    c = field.client()
    c.many(field.n(20_000), lambda i: octets(Queue.Declare(queue=f"po{i}", exclusive=True, nowait=True)))
    for i in range(4):
        field.ctl("set_policy", f"p{i}", "^po", f'{{"max-length": {1_000 + i}}}', "--priority", str(i))
    for i in range(4):
        field.ctl("clear_policy", f"p{i}")


@abuse
def ctl_list(field):
    """20,000 queues are listed, and the definitions exported."""
    c = field.client()
    c.many(field.n(20_000), lambda i: octets(Queue.Declare(queue=f"li{i}", exclusive=True, nowait=True)))
    field.ctl("list_queues", "name", "messages", "memory")
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        field.ctl("export_definitions", str(Path(folder) / "all.json"))


@abuse
def ctl_delete_vhost(field):
    """A virtual host with 10,000 queues, 20,000 bindings and a policy is deleted."""
    field.ctl("add_vhost", "abused")
    field.ctl("set_permissions", "-p", "abused", "guest", ".*", ".*", ".*")
    field.ctl("set_policy", "-p", "abused", "p", "^q", '{"max-length": 1000}')
    c = field.client(vhost="abused")
    c.many(
        field.n(10_000),
        lambda i: (
            octets(Queue.Declare(queue=f"q{i}", nowait=True))
            + bind(f"q{i}", "amq.topic", f"a.{i}")
            + bind(f"q{i}", "amq.direct", f"a.{i}")
        ),
    )
    field.ctl("delete_vhost", "abused")


@abuse
def ctl_delete_user(field):
    """A user with 500 connections is deleted, each with ten exclusive queues."""
    field.ctl("add_user", "abuser", "secret")
    field.ctl("set_permissions", "abuser", ".*", ".*", ".*")
    for n in range(field.n(500)):
        c = field.client(user="abuser", password="secret")
        c.send(octets(*[Queue.Declare(queue=f"du{n}.{i}", exclusive=True, nowait=True) for i in range(10)]))
    field.ctl("delete_user", "abuser")
    time.sleep(1)
