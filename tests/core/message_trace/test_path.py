"""By which binding a message reached its queue, for every type of exchange, also through others."""

import pytest
from pamqp import commands

from pybroker.core.message_trace import path as module

Exchange, Queue = commands.Exchange, commands.Queue


@pytest.fixture
def bind(peer):
    def bind(source, kind, routing_key, arguments=None, *, queue="q", **options):
        peer.call(Exchange.Declare(exchange=source, exchange_type=kind, arguments=options))
        peer.call(Queue.Bind(queue=queue, exchange=source, routing_key=routing_key, arguments=arguments or {}))

    return bind


@pytest.fixture
def path(peer, follow):
    """Publish a message; return its path to the queue `q`."""

    def path(exchange, routing_key, **properties):
        trace = follow(exchange=exchange)
        peer.publish(exchange, routing_key, **properties)
        events = trace.poll(100)
        trace.stop("stopped")
        return [
            (step["exchange"], step["to"], step["by"], step["key"])
            for event in events
            if event["event"] == "routed" and event["queue"] == "q"
            for step in event["path"]
        ]

    return path


def test_the_default_exchange(path):
    assert path("", "q") == [("", "q", "default", "q")]


@pytest.mark.parametrize(
    ("kind", "key", "published"),
    [("direct", "a", "a"), ("fanout", "a", "b"), ("topic", "a.#", "a.b.c"), ("x-modulus-hash", "1", "z")],
)
def test_exchanges_that_look_at_the_key(bind, path, kind, key, published):
    if kind in {"direct", "topic"}:
        bind("x", kind, "other")
    bind("x", kind, key)
    assert path("x", published) == [("x", "q", "binding", key)]


def test_headers_and_their_arguments(peer, bind, follow):
    bind("x", "headers", "no", {"x-match": "all", "a": 1, "b": 2})
    bind("x", "headers", "yes", {"x-match": "any", "a": 1, "c": 3})
    trace = follow(exchange="x")
    peer.publish("x", "", headers={"a": 1})
    step = trace.poll(10)[1]["path"][0]
    assert ("yes", {"x-match": "any", "a": 1, "c": 3}) == (step["key"], step["arguments"])


def test_random_remembers_what_it_picked(peer, bind, path):
    peer.declare("other")
    for key in "abc":
        bind("x", "x-random", key)
        bind("x", "x-random", key, queue="other")
    for _ in range(20):
        found = path("x", "")
        assert not found or found[0][3] in set("abc")


def test_consistent_hash_shows_the_weight(peer, bind, path):
    peer.declare("other")
    bind("x", "x-consistent-hash", "7")
    bind("x", "x-consistent-hash", "1", queue="other")
    keys = {step[0][3] for i in range(20) if (step := path("x", f"key{i}"))}
    assert keys == {"7"}


def test_recent_history_keeps_a_message_once(world, peer, bind, path):
    bind("x", "x-recent-history", "")
    assert path("x", "k") == [("x", "q", "binding", "")]
    peer.declare("late")
    peer.call(Queue.Bind(queue="late", exchange="x"))
    world.run()
    assert world.vhost.queues["late"].messages_ready == 1


def test_a_delayed_exchange_that_does_not_wait(bind, path):
    bind("x", "x-delayed-message", "a.*", **{"x-delayed-type": "topic"})
    assert path("x", "a.b") == [("x", "q", "binding", "a.*")]


def test_exchanges_bound_to_exchanges(peer, bind, path):
    peer.call(Exchange.Declare(exchange="front", exchange_type="fanout"))
    bind("back", "topic", "eu.#")
    peer.call(Exchange.Bind(destination="back", source="front", routing_key="all"))
    peer.call(Exchange.Bind(destination="front", source="back", routing_key="#"))  # a circle
    assert path("front", "eu.new") == [("front", "back", "binding", "all"), ("back", "q", "binding", "eu.#")]


def test_alternates_and_their_bindings(peer, bind, path):
    bind("other", "direct", "k")
    peer.call(Exchange.Declare(exchange="x", exchange_type="direct", arguments={"alternate-exchange": "other"}))
    assert path("x", "k") == [("x", "other", "alternate", ""), ("other", "q", "binding", "k")]


def test_an_alternate_that_does_not_exist(peer, follow):
    peer.call(Exchange.Declare(exchange="x", exchange_type="direct", arguments={"alternate-exchange": "gone"}))
    trace = follow(exchange="x")
    peer.publish("x", "k")
    assert "alternate exchange 'gone' does not exist" in trace.poll(10)[1]["why"]


def test_carbon_copies(path):
    assert path("", "nowhere", headers={"BCC": ["q"]}) == [("", "q", "default", "q")]


def test_very_many_bindings_are_not_all_looked_at(bind, path, monkeypatch):
    monkeypatch.setattr(module, "BINDINGS_MAX", 3)
    for key in ("b.*", "c.*", "d.*", "a.*"):
        bind("x", "topic", key)
    assert path("x", "a.b") == [("x", "q", "unknown", "")]
    monkeypatch.setattr(module, "BINDINGS_MAX", 4)
    assert path("x", "a.b") == [("x", "q", "binding", "a.*")]
