"""Abuses of bench_abuse.py by what is declared and deleted, and by how messages are routed."""

import time

from pamqp import commands

from tests.bench.bench_abuse import abuse, bind, octets, publish

Basic, Exchange, Queue = commands.Basic, commands.Exchange, commands.Queue


@abuse
def idle(field):
    """Nothing at all, for comparison."""
    time.sleep(3)


# -- routing ----------------------------------------------------------------------------------------------------------


@abuse
def topic_hashes(field):
    """Keys of 120 words against patterns of nothing but `#`."""
    c = field.client()
    c.declare("th", exclusive=True)
    c.exchange("thx", "topic", auto_delete=True)
    c.send(
        bind("th", "thx", "#.#.#.#.#.#.#.#.b")
        + bind("th", "thx", "#.a.#.a.#.a.#.a.#.b")
        + bind("th", "thx", "*.#.*.#.c")
    )
    c.many(field.n(300), lambda i: publish("thx", "a." * 119 + str(i)))


@abuse
def topic_bindings(field):
    """20,000 bindings with `#` in the middle, then 50 keys of 60 words."""
    c = field.client()
    c.declare("tb", exclusive=True)
    c.exchange("tbx", "topic", auto_delete=True)
    c.many(field.n(20_000), lambda i: bind("tb", "tbx", "#." * (i % 12) + f"#.{i}.#.a"))
    words = ".".join(map(str, range(60)))
    c.many(field.n(50), lambda i: publish("tbx", f"{words}.{i}.a"))


@abuse
def topic_same(field):
    """50,000 bindings of one pattern to 100 queues, then 200 keys."""
    c = field.client()
    c.exchange("tsx", "topic", auto_delete=True)
    c.many(100, lambda i: octets(Queue.Declare(queue=f"ts{i}", exclusive=True, nowait=True)))
    c.many(field.n(50_000), lambda i: bind(f"ts{i % 100}", "tsx", "#.#.a", k=i))
    c.many(field.n(200), lambda i: publish("tsx", f"{i}.x.a"))


@abuse
def headers_any(field):
    """20,000 bindings of a headers exchange that want any of two headers, then 1,000 messages."""
    c = field.client()
    c.declare("hy", exclusive=True)
    c.exchange("hyx", "headers", auto_delete=True)
    c.many(field.n(20_000), lambda i: bind("hy", "hyx", x_match="any", a=i, b=str(i)))
    c.many(field.n(1_000), lambda i: publish("hyx", "", headers={"a": i, "c": "z"}))


@abuse
def headers_all(field):
    """20,000 bindings of a headers exchange that want both headers, one of them common, then 1,000 messages."""
    c = field.client()
    c.declare("hl", exclusive=True)
    c.exchange("hlx", "headers", auto_delete=True)
    c.many(field.n(20_000), lambda i: bind("hl", "hlx", x_match="all", kind="order", b=i))
    c.many(field.n(1_000), lambda i: publish("hlx", "", headers={"kind": "order", "b": -i}))


@abuse
def wide_headers(field):
    """3,000 messages with 1,000 headers each, through a headers exchange."""
    c = field.client()
    c.declare("wh", exclusive=True)
    c.send(bind("wh", "amq.headers", x_match="any", k00001=5))
    message = publish("amq.headers", "", headers={f"k{i:05}": i for i in range(1_000)})
    c.many(field.n(3_000), lambda _: message)


@abuse
def fanout_wide(field):
    """A fanout exchange with 10,000 queues, then 50 messages."""
    c = field.client()
    c.exchange("fwx", "fanout", auto_delete=True)
    c.many(field.n(10_000), lambda i: octets(Queue.Declare(queue=f"fw{i}", exclusive=True, nowait=True)))
    c.many(field.n(10_000), lambda i: bind(f"fw{i}", "fwx"))
    c.many(50, lambda _: publish("fwx", ""))


@abuse
def exchange_cycle(field):
    """300 exchanges, each bound to the next seven, then 500 messages."""
    c = field.client()
    names = [f"ec{i}" for i in range(300)]
    c.send(octets(*[Exchange.Declare(exchange=x, exchange_type="fanout", nowait=True) for x in names]))
    pairs = [(i, (i + k) % 300) for i in range(300) for k in range(1, 8)]
    c.send(octets(*[Exchange.Bind(source=names[i], destination=names[k], nowait=True) for i, k in pairs]))
    c.declare("ecq", exclusive=True)
    c.send(bind("ecq", "ec7"))
    c.many(field.n(500), lambda i: publish("ec0", str(i)))
    c.send(octets(*[Exchange.Delete(exchange=x, nowait=True) for x in names]))
    c.sync()


@abuse
def alternate_cycle(field):
    """50 alternate exchanges in a circle, then 2,000 messages that come back."""
    c = field.client()
    for i in range(50):
        c.exchange(f"ac{i}", "direct", arguments={"alternate-exchange": f"ac{(i + 1) % 50}"})
    c.many(field.n(2_000), lambda i: publish("ac0", str(i), mandatory=True))
    c.send(octets(*[Exchange.Delete(exchange=f"ac{i}", nowait=True) for i in range(50)]))
    c.sync()


@abuse
def returns(field):
    """100,000 mandatory messages to nowhere, whose returns nobody reads until the end."""
    c = field.client()
    c.many(field.n(100_000), lambda _: publish("", "nowhere", mandatory=True))


# -- deletions --------------------------------------------------------------------------------------------------------


@abuse
def delete_queue_bound(field):
    """A queue with 50,000 bindings is deleted."""
    c = field.client()
    c.declare("db")
    c.exchange("dbx", "topic")
    c.many(field.n(50_000), lambda i: bind("db", "dbx", f"a.{i}"))
    c.call(Queue.Delete(queue="db"), Queue.DeleteOk)
    c.call(Exchange.Delete(exchange="dbx"), Exchange.DeleteOk)


@abuse
def delete_durable_bound(field):
    """A durable queue with 20,000 bindings is deleted and declared again at once, on two connections."""
    c, d = field.client(), field.client()
    c.declare("dd", durable=True)
    c.many(field.n(20_000), lambda i: bind("dd", "amq.topic", f"a.{i}"))
    c.send(octets(Queue.Delete(queue="dd"), Queue.Declare(queue="dd", durable=True)))
    d.declare("dd", durable=True)
    c.wait(Queue.DeleteOk)
    c.wait(Queue.DeclareOk)
    c.call(Queue.Delete(queue="dd"), Queue.DeleteOk)


@abuse
def delete_exchange_bound(field):
    """An exchange with 50,000 bindings is deleted."""
    c = field.client()
    c.declare("de", exclusive=True)
    c.exchange("dex", "direct")
    c.many(field.n(50_000), lambda i: bind("de", "dex", f"a.{i}"))
    c.call(Exchange.Delete(exchange="dex"), Exchange.DeleteOk)


@abuse
def exclusive_queues(field):
    """A connection with 50,000 exclusive queues vanishes."""
    c = field.client()
    c.many(field.n(50_000), lambda i: octets(Queue.Declare(queue=f"ex{i}", exclusive=True, nowait=True)))
    c.vanish()
    time.sleep(3)


@abuse
def auto_delete_queues(field):
    """A connection that consumes from 10,000 auto-delete queues vanishes."""
    c = field.client()
    declare = [(f"ad{i}", f"t{i}") for i in range(field.n(10_000))]
    c.many(
        len(declare),
        lambda i: octets(
            Queue.Declare(queue=declare[i][0], auto_delete=True, nowait=True),
            Basic.Consume(queue=declare[i][0], consumer_tag=declare[i][1], nowait=True),
        ),
    )
    c.vanish()
    time.sleep(2)


@abuse
def expiring_queues(field):
    """20,000 queues expire within the same two seconds."""
    c = field.client()
    c.many(
        field.n(20_000), lambda i: octets(Queue.Declare(queue=f"xp{i}", nowait=True, arguments={"x-expires": 2_000}))
    )
    time.sleep(4)


@abuse
def declare_delete(field):
    """30,000 times a durable queue is declared and deleted again."""
    c = field.client()
    pair = octets(Queue.Declare(queue="dx", durable=True, nowait=True), Queue.Delete(queue="dx", nowait=True))
    c.many(field.n(30_000), lambda _: pair)


@abuse
def bind_unbind(field):
    """20,000 times a binding is made and taken away beside 10,000 others."""
    c = field.client()
    c.declare("bu", exclusive=True)
    c.many(field.n(10_000), lambda i: bind("bu", "amq.topic", f"b.{i}"))
    pair = bind("bu", "amq.topic", "#.x") + octets(Queue.Unbind(queue="bu", exchange="amq.topic", routing_key="#.x"))
    c.many(field.n(20_000), lambda _: pair)
