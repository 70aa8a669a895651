"""Exchanges as targets: routed as published there, to all of the queues or to none, and never back."""

import pytest

from pybroker.core.queue.move.source import Stop
from pybroker.core.queue.pause import Pause
from pybroker.run import RunAttributes
from pybroker.wire.properties import Properties, attributes_of, encode_properties
from pybroker.wire.table import Table
from tests.contents import content
from tests.core.moving import bodies, finish, numbered
from tests.readers import Bench
from tests.topology import exchange as make_exchange, link, queue as make_queue, wired


def to_exchange(bench: Bench, name: str, routing_key: str | None = None):
    return finish(bench, bench.broker.moves.to_exchange(bench.queue, bench.vhost.exchanges[name], routing_key))


def publish(bench: Bench, **properties) -> None:
    """Put one message into the source with all that its properties mean."""
    octets = encode_properties(Properties(**properties))
    run = bench.publish(b"00", attributes=attributes_of(octets))
    run.contents[:] = [content(b"00", **properties)]


def test_each_goes_to_all_queues_of_its_route(bench, target):
    other = make_queue(bench.vhost, "c")
    make_exchange(bench.vhost, "x", "fanout")
    link(bench.vhost, "x", "b")
    link(bench.vhost, "x", "c")
    bench.publish(*numbered(3))
    move = to_exchange(bench, "x")
    assert (3, None, numbered(3), numbered(3)) == (move.messages, move.stop, bodies(target), bodies(other))
    head = target.backlog.head()
    assert ("x", "k") == (head.run.names.exchange, head.run.names.routing_key)
    assert (3, 6) == (bench.vhost.exchanges["x"].publish_in, bench.vhost.exchanges["x"].publish_out)


def test_unroutable_ones_stay(bench):
    make_exchange(bench.vhost, "x")
    bench.publish(*numbered(2))
    move = to_exchange(bench, "x", "nowhere")
    text = "exchange 'x' in vhost '/' routes messages with key 'nowhere' to no queue"
    assert (0, Stop(text), 2) == (move.messages, move.stop, bench.queue.messages_ready)


def test_the_alternate_exchange_takes_them(bench, target):
    make_exchange(bench.vhost, "x", arguments=wired(alternate_exchange="amq.fanout"))
    link(bench.vhost, "amq.fanout", "b")
    bench.publish(*numbered(2))
    assert (2, 2) == (to_exchange(bench, "x", "nowhere").messages, target.messages_ready)


def test_one_full_queue_of_several_keeps_all_of_it_back(bench, target):
    make_queue(bench.vhost, "c", wired(x_max_length=1))
    make_exchange(bench.vhost, "x", "fanout")
    link(bench.vhost, "x", "b")
    link(bench.vhost, "x", "c")
    bench.publish(*numbered(3))
    move = to_exchange(bench, "x")
    assert (Stop("queue 'c' in vhost '/' is full", temporary=True), 1, 2) == (
        move.stop,
        target.messages_ready,
        bench.queue.messages_ready,
    )


def test_nothing_goes_back_to_the_source(bench, target):
    link(bench.vhost, "amq.fanout", "a")
    link(bench.vhost, "amq.fanout", "b")
    bench.publish(*numbered(2))
    move = to_exchange(bench, "amq.fanout", "key")
    text = "exchange 'amq.fanout' in vhost '/' routes messages with key 'key' back to queue 'a' in vhost '/'"
    assert (Stop(text), 0, 2) == (move.stop, target.messages_ready, bench.queue.messages_ready)


def test_headers_route_each_message(bench, target):
    other = make_queue(bench.vhost, "c")
    make_exchange(bench.vhost, "x", "headers")
    link(bench.vhost, "x", "b", arguments=wired(kind="b"))
    link(bench.vhost, "x", "c", arguments=wired(kind="c"))
    for kind in ("b", "c", "b"):
        publish(bench, headers=Table({"kind": kind}))
    assert None is to_exchange(bench, "x").stop
    assert (2, 1) == (target.messages_ready, other.messages_ready)


def test_copies_go_by_their_keys_unless_one_is_given(bench, target):
    make_exchange(bench.vhost, "x")
    link(bench.vhost, "x", "b", "copy")
    publish(bench, headers=Table({"CC": ["copy"]}))
    assert (None, 1) == (to_exchange(bench, "x").stop, target.messages_ready)
    publish(bench, headers=Table({"CC": ["copy"]}))
    assert to_exchange(bench, "x", "other").stop is not None


def test_a_delayed_exchange_keeps_what_is_not_due(bench, target):
    make_exchange(bench.vhost, "x", "x-delayed-message", wired(x_delayed_type="fanout"))
    link(bench.vhost, "x", "b")
    publish(bench, headers=Table({"x-delay": 5_000}))
    bench.publish(b"01")
    assert None is to_exchange(bench, "x").stop
    assert ([b"01"], 1) == (bodies(target), bench.vhost.exchanges["x"].messages_delayed)
    bench.advance(5_001)
    assert 2 == target.messages_ready


@pytest.mark.parametrize("persistent", [False, True])
def test_a_deleted_exchange_ends_it(bench, target, persistent):
    exchange = make_exchange(bench.vhost, "x", "fanout")
    link(bench.vhost, "x", "b")
    bench.publish(*numbered(2), attributes=RunAttributes(persistent=persistent))
    move = bench.broker.moves.to_exchange(bench.queue, exchange)
    del bench.vhost.exchanges["x"]
    assert Stop("exchange 'x' in vhost '/' was deleted") == finish(bench, move).stop
    assert 2 == bench.queue.messages_ready


@pytest.mark.parametrize("mode", ["withhold", "refuse"])
def test_nothing_goes_to_a_queue_that_is_paused_for_publishers(bench, target, mode):
    target.obey(Pause(publish=True, consume=False, mode=mode, user="op", since_ms=1, why="migration"))
    make_exchange(bench.vhost, "x", "fanout")
    link(bench.vhost, "x", "b")
    bench.publish(*numbered(2))
    text = (
        "exchange 'x' in vhost '/' routes messages with key 'k' to queue 'b' in vhost '/', which is paused: migration"
    )
    assert to_exchange(bench, "x").stop == Stop(text, temporary=True)
    move = finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    assert (move.stop, move.messages) == (Stop("queue 'b' in vhost '/' is paused: migration", temporary=True), 0)
    target.obey(None)
    assert finish(bench, bench.broker.moves.to_queue(bench.queue, target)).messages == 2
