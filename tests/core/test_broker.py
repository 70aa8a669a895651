"""The root: what a fresh node has, what a deleted virtual host takes along, and warnings that do not flood the log."""

import logging

import pytest

from pybroker.core.broker import PUMP_MS, WARN_INTERVAL_MS, WARN_KEYS_MAX, Broker
from pybroker.core.settings import Settings
from pybroker.session import Turn
from tests.clock import FakeClock
from tests.fakes import Connection, World
from tests.readers import Bench
from tests.topology import new_vhost


def new_broker(**settings) -> Broker:
    return Broker(Settings(**settings), FakeClock(), Turn())


def test_a_fresh_node_has_its_vhost_and_a_user_who_may_everything():
    broker = new_broker(default_vhost="v", default_user="u", default_pass="p")
    assert ["v"] == list(broker.vhosts)
    user = broker.users.authenticate("u", "p")
    assert user is not None
    assert ("administrator",) == tuple(user.tags)
    assert broker.users.authenticate("guest", "guest") is None


def test_a_vhost_is_made_once():
    broker = new_broker()
    broker.add_vhost("v", "what for")
    made = broker.vhosts["v"]
    assert 0 == broker.add_vhost("v", "something else")
    assert made is broker.vhosts["v"]
    assert ("what for", 7) == (made.description, len(made.exchanges))


def test_deleting_a_vhost_closes_its_connections_and_takes_its_queues():
    world = World()
    world.broker.add_vhost("v")
    vhost = world.broker.vhosts["v"]
    world.broker.users.set_permissions("guest", "v", ".*", ".*", ".*")
    inside, outside = world.connect(vhost="v"), world.connect()
    inside.declare("q", exclusive=True)
    inside.declare("durable", durable=True)
    world.broker.delete_vhost("v")
    world.run()
    close = inside.next(0)
    assert isinstance(close, Connection.Close)
    assert (320, "CONNECTION_FORCED - vhost 'v' is deleted") == (close.reply_code, close.reply_text)
    assert ({}, {}, ["/"]) == (vhost.queues, vhost.exchanges, list(world.broker.vhosts))
    assert "running" == outside.session.state


def test_a_reset_node_is_a_fresh_one():
    broker = new_broker()
    broker.add_vhost("v")
    broker.users.add("other", "secret", ())
    Bench(broker.vhosts["/"], "q").flood(3)
    broker.reset()
    assert (["/"], {}) == (list(broker.vhosts), broker.vhosts["/"].queues)
    assert broker.users.authenticate("other", "secret") is None
    assert broker.users.authenticate("guest", "guest") is not None


def test_the_id_of_the_cluster_stays_until_a_reset():
    broker = new_broker()
    broker.ensure_cluster_id()
    first = broker.parameters.globals["internal_cluster_id"]
    broker.ensure_cluster_id()
    assert broker.parameters.globals["internal_cluster_id"] == first
    broker.reset()
    assert broker.parameters.globals["internal_cluster_id"] != first


def test_who_observes_users_still_does_after_a_reset():
    broker, events = new_broker(), []
    broker.users.observers.add(lambda event, facts, _cause: events.append((event, facts.get("name"))))
    broker.reset()
    broker.users.add("u", "secret")
    assert ("user.created", "u") == events[-1]


def test_seqs_and_queue_ids_are_never_given_twice():
    vhost = new_vhost()
    seen = set()
    for i in range(5):
        bench = Bench(vhost, "q")
        assert bench.queue.id not in seen
        seen.add(bench.queue.id)
        bench.flood(2)
        assert [2 * i + 1, 2 * i + 2] == bench.ready()
        vhost.delete_queue(bench.queue)


def test_the_pump_gives_each_queue_that_was_woken_one_share():
    vhost = new_vhost()
    benches = [Bench(vhost, name) for name in "abc"]
    readers = [bench.reader() for bench in benches]
    benches[0].flood(10_000)
    benches[2].flood(1)
    vhost.broker.pump()
    assert [4_096, 0, 1] == [len(reader.seqs) for reader in readers]
    assert [benches[0].queue] == list(vhost.broker.turn.queues)


def test_the_pump_ends_when_its_time_is_up_and_the_queues_keep_their_places(monkeypatch):
    vhost = new_vhost()
    benches = [Bench(vhost, f"q{i}") for i in range(100)]
    readers = [bench.reader() for bench in benches]
    for bench in benches:
        bench.flood(1)
    clock = vhost.broker.clock
    monkeypatch.setattr(type(clock), "refresh", lambda clock: clock.advance(PUMP_MS))
    vhost.broker.pump()
    served = [len(reader.seqs) for reader in readers]
    assert [1] * sum(served) + [0] * (100 - sum(served)) == served
    assert 0 < sum(served) < 100
    assert [bench.queue for bench in benches[sum(served) :]] == list(vhost.broker.turn.queues)
    benches[0].turn()
    assert [1] * 100 == [len(reader.seqs) for reader in readers]


def test_a_queue_that_fails_keeps_the_others_in_line(monkeypatch):
    vhost = new_vhost()
    benches = [Bench(vhost, name) for name in "ab"]
    readers = [bench.reader() for bench in benches]
    for bench in benches:
        bench.flood(1)

    def fail(*_args: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(readers[0], "deliver", fail, raising=False)
    with pytest.raises(ZeroDivisionError):
        vhost.broker.pump()
    vhost.broker.pump()
    assert [2] == readers[1].seqs


def test_a_warning_is_given_once_a_minute_for_each_key(caplog):
    broker = new_broker()
    for _ in range(3):
        broker.warn("queue.full", "a", "A happened")
        broker.warn("queue.full", "b", "B happened")
    assert ["A happened", "B happened"] == [record.getMessage() for record in caplog.records]
    broker.clock.advance(WARN_INTERVAL_MS - 1)
    broker.warn("queue.full", "a", "too soon")
    broker.clock.advance(1)
    broker.warn("queue.full", "a", "again")
    assert "again" == caplog.records[-1].getMessage()
    assert 3 == len(caplog.records)


def test_the_keys_of_warnings_are_bounded(caplog):
    caplog.set_level(logging.CRITICAL)
    broker = new_broker()
    for i in range(WARN_KEYS_MAX + 10):
        broker.warn("queue.full", f"queue {i}", "full")
        assert len(broker._warned) <= WARN_KEYS_MAX


def test_information_is_logged(caplog):
    caplog.set_level(logging.INFO)
    new_broker().info("node.begun", "it began", vhost="v")
    (record,) = caplog.records
    assert ("pybroker", "it began", "node.begun") == (record.name, record.getMessage(), record.event.id)
    assert {"vhost": "v"} == record.event.fields


def test_a_tick_reaches_every_session_even_those_it_ends():
    world = World(handshake_timeout_ms=1_000)
    peers = [world.peer() for _ in range(3)]
    world.clock.advance(1_000)
    world.broker.tick()
    assert [True] * 3 == [peer.session.finished for peer in peers]
