"""A name space: its generation counts what can alter a route, and a deleted queue leaves nothing behind."""

from pybroker.core.events.cause import because
from pybroker.core.topology.exchange_declare import PREDECLARED
from tests.core.kept import again, new_broker
from tests.readers import Bench, Peer
from tests.topology import exchange, link, new_vhost, queue


def test_a_new_one_has_rabbitmqs_exchanges_and_no_queues():
    vhost = new_vhost()
    assert {"", "amq.rabbitmq.event", *(name for name, _, _ in PREDECLARED)} == set(vhost.exchanges)
    assert {} == vhost.queues


def test_what_can_alter_a_route_voids_it():
    vhost = new_vhost()
    seen = [vhost.generation]

    def changed() -> bool:
        seen.append(vhost.generation)
        return seen[-1] > seen[-2]

    made = queue(vhost, "q")
    link(vhost, "amq.fanout", "q")
    assert changed()
    exchange(vhost, "x")
    assert changed()
    vhost.delete_queue(made)
    assert changed()
    assert not changed()


def test_what_describes_it_is_kept_when_it_changes():
    broker = new_broker()
    broker.vhosts["/"].describe(tags=("a",), default_queue_type="quorum", protected=True)
    broker.vhosts["/"].describe(description="mine")
    found = again(broker).vhosts["/"]
    assert ("mine", ("a",), "quorum", True) == (
        found.description,
        found.tags,
        found.default_queue_type,
        found.protected,
    )
    broker.vhosts["/"].describe(protected=False)
    assert not again(broker).vhosts["/"].protected


def test_a_deleted_queue_leaves_nothing_behind():
    bench = Bench(x_expires=1_000)
    vhost, made = bench.vhost, bench.queue
    owner = Peer(vhost)
    link(vhost, "amq.fanout", "q")
    made.owner = owner
    owner.exclusive_queues[made] = None
    made.touch()
    bench.flood(5)
    reader = bench.reader(prefetch=2)
    bench.turn()
    assert 3 == vhost.delete_queue(made)
    assert ({}, {}, {}) == (vhost.queues, vhost.bound, owner.exclusive_queues)
    assert [] == list(vhost.exchanges["amq.fanout"].bindings())
    assert (1, 0, 0) == (reader.told, made.messages, made.backlog.octets_unacknowledged)
    assert (0, True) == (made.consumer_count, reader.cancelled)
    bench.advance(10_000)


def test_nobody_waits_for_ever_for_a_deletion_that_fails(monkeypatch):
    vhost = new_vhost()
    made = queue(vhost, "q")
    monkeypatch.setattr("pybroker.core.topology.removal_steps.forget_queue", lambda *_: 1 / 0)
    over = []
    vhost.delete_queue(made, because("a test"), lambda _: over.append(1))
    assert ([1], {}) == (over, vhost.leaving)


def test_deleting_twice_is_deleting_once():
    bench = Bench()
    bench.flood(1)
    assert 1 == bench.vhost.delete_queue(bench.queue)
    again = Bench(bench.vhost, "q")
    assert 0 == bench.vhost.delete_queue(bench.queue)
    assert {"q": again.queue} == bench.vhost.queues


def test_an_auto_delete_exchange_goes_with_its_last_queue():
    vhost = new_vhost()
    exchange(vhost, "x", "fanout", auto_delete=True)
    made = queue(vhost, "q")
    link(vhost, "x", "q")
    vhost.delete_queue(made)
    assert "x" not in vhost.exchanges


def test_tracing_voids_routes_and_is_logged_in_rabbitmqs_words(caplog):
    caplog.set_level("INFO", "pybroker")
    vhost = new_vhost()
    before = vhost.generation
    for on in (True, True, False, False):
        vhost.trace(on=on)
    assert before + 2 == vhost.generation
    assert [record.getMessage() for record in caplog.records] == [
        "Enabling tracing for vhost '/'",
        "Tracing is already enabled for vhost '/'",
        "Disabling tracing for vhost '/'",
        "Tracing is already disabled for vhost '/'",
    ]
