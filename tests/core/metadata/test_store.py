"""Each durable object has a row while it exists, and nothing else has one (F19, F20)."""

import pytest

from pybroker.core.broker import Broker
from pybroker.core.events.cause import BROKER
from pybroker.core.topology.exchange_declare import bind, delete_exchange
from pybroker.store.definitions.definitions import KINDS
from pybroker.wire.table import Table
from tests.core.kept import KeptDefinitions, new_broker, queue
from tests.fakes import World
from tests.topology import exchange, link, typed, unlink, wired


@pytest.fixture
def broker() -> Broker:
    return new_broker()


@pytest.fixture
def vhost(broker):
    return broker.vhosts["/"]


@pytest.fixture
def kept(broker) -> KeptDefinitions:
    return broker.definitions


def counts(kept) -> dict[str, int]:
    """Return how many rows there are of each kind, beyond those of a fresh node."""
    fresh = new_broker().definitions
    found = {kind: len(kept.keys(kind)) - len(fresh.keys(kind)) for kind in KINDS}
    return {kind: count for kind, count in found.items() if count}


def test_a_fresh_node_keeps_its_defaults_and_no_predeclared_exchange(kept):
    assert [("vhost", ("/",)), ("user", ("guest",)), ("permission", ("guest", "/"))] == list(kept.texts)
    assert {"configure": ".*", "write": ".*", "read": ".*"} == kept.value("permission", "guest", "/")
    assert ["administrator"] == kept.value("user", "guest")["tags"]


def test_a_queue_is_kept_as_rabbitmq_would_export_it(vhost, kept):
    made = queue(vhost, "q", typed("x-max-length", "s", 5), auto_delete=True)
    assert {
        "id": made.id,
        "durable": True,
        "auto_delete": True,
        "type": "classic",
        "arguments": {"x-max-length": 5},
        "arguments_amqp": "00000010" + "0c" + b"x-max-length".hex() + b"s".hex() + "0005",
        "user": "",
    } == kept.value("queue", "/", "q")


def test_what_is_transient_or_exclusive_has_no_row(vhost, kept):
    session = World().connect().session
    queue(vhost, "transient", durable=False)
    queue(vhost, "exclusive", exclusive=True, session=session)
    exchange(vhost, "x", durable=False)
    exchange(vhost, "durable-x")
    link(vhost, "x", "transient")
    bind(vhost, None, session, "durable-x", "queue", "exclusive", "", Table(), BROKER)
    link(vhost, "amq.direct", "transient")
    assert {"exchange": 1} == counts(kept)


def test_deleting_takes_the_rows_along(vhost, kept):
    exchange(vhost, "x")
    exchange(vhost, "y")
    made = queue(vhost, "q")
    link(vhost, "x", "q", "a", wired(n=1))
    link(vhost, "x", "q", "a", wired(n=2))
    link(vhost, "x", "q", "b")
    link(vhost, "amq.topic", "q", "c")
    link(vhost, "y", "x:x")
    assert {"exchange": 2, "queue": 1, "binding": 5} == counts(kept)
    unlink(vhost, "x", "q", "a", wired(n=2))
    assert {"exchange": 2, "queue": 1, "binding": 4} == counts(kept)
    delete_exchange(vhost, None, "x", BROKER, if_unused=False)
    assert {"exchange": 1, "queue": 1, "binding": 1} == counts(kept)
    vhost.delete_queue(made)
    assert {"exchange": 1} == counts(kept)


def test_a_queue_loses_its_row_even_if_memory_is_short_when_it_is_deleted(vhost, kept, monkeypatch):
    def purge(_):
        raise MemoryError

    made = queue(vhost, "q")
    link(vhost, "amq.topic", "q", "a")
    monkeypatch.setattr(type(made), "purge", purge)
    with pytest.raises(MemoryError):
        vhost.delete_queue(made)
    assert {} == counts(kept)


def test_an_auto_delete_exchange_that_loses_its_last_binding_loses_its_row(vhost, kept):
    exchange(vhost, "x", auto_delete=True)
    made = queue(vhost, "q")
    link(vhost, "x", "q")
    vhost.delete_queue(made)
    assert {} == counts(kept)


def test_a_queue_that_expires_loses_its_row():
    world = World()
    world.broker.definitions = kept = KeptDefinitions()
    peer = world.connect()
    peer.declare("q", durable=True, arguments={"x-expires": 1_000})
    assert [("/", "q")] == kept.keys("queue")
    world.advance(1_001)
    assert [] == kept.keys("queue")


def test_a_durable_auto_delete_queue_that_loses_its_last_consumer_loses_its_row():
    world = World()
    world.broker.definitions = kept = KeptDefinitions()
    peer = world.connect()
    peer.declare("q", durable=True, auto_delete=True)
    peer.consume("q")
    assert [("/", "q")] == kept.keys("queue")
    peer.disconnect()
    world.run()
    assert [] == kept.keys("queue")


def test_a_second_declare_and_a_second_bind_change_nothing(vhost, kept):
    exchange(vhost, "x")
    queue(vhost, "q")
    link(vhost, "x", "q")
    commit_position = kept.commit_position
    exchange(vhost, "x")
    link(vhost, "x", "q")
    unlink(vhost, "x", "q", "other")
    delete_exchange(vhost, None, "not there", BROKER, if_unused=False)
    assert commit_position == kept.commit_position


def test_a_vhost_takes_everything_along(broker, kept):
    broker.add_vhost("v", "what for", ("a", "b"), "quorum")
    vhost = broker.vhosts["v"]
    assert {"description": "what for", "tags": ["a", "b"], "default_queue_type": "quorum"} == kept.value("vhost", "v")
    exchange(vhost, "x")
    exchange(vhost, "y")
    link(vhost, "x", "x:y")
    link(vhost, "amq.fanout", "x:y")
    queue(vhost, "q")
    link(vhost, "x", "q")
    broker.users.set_permissions("guest", "v", "", "", "")
    broker.users.set_topic_permissions("guest", "v", "x", "a", "b")
    assert {"vhost": 1, "exchange": 2, "binding": 3, "queue": 1, "permission": 1, "topic_permission": 1} == counts(kept)
    broker.delete_vhost("v")
    assert {} == counts(kept)


def test_tracing_is_not_kept(vhost, kept):
    before = kept.commit_position
    vhost.trace(on=True)
    assert before == kept.commit_position


def test_the_clusters_name_is_kept(broker, kept):
    broker.name_cluster("mine")
    assert {"value": "mine"} == kept.value("global_parameter", "cluster_name")


def test_a_reset_forgets_every_row_also_those_that_made_nothing(broker, kept):
    fresh = new_broker()
    fresh.ensure_cluster_id()
    broker.name_cluster("mine")
    broker.add_vhost("v")
    broker.users.add("u", "p")
    kept.put("exchange", ("nowhere", "x"), {"type": "later"})
    broker.reset()
    assert set(fresh.definitions.texts) == set(kept.texts)
    assert "pybroker@localhost" == broker.settings.cluster_name


def test_a_turns_changes_are_handed_over_at_its_end():
    world = World()
    commits = []

    class Watched(KeptDefinitions):
        __slots__ = ()

        def put(self, kind, key, value):
            self.wake()
            return super().put(kind, key, value)

        def commit(self):
            commits.append(len(self.texts))

    broker = Broker(world.broker.settings, world.clock, world.turn, Watched())
    assert [] == commits
    world.run()
    assert [3] == commits
    queue(broker.vhosts["/"], "q")
    queue(broker.vhosts["/"], "r")
    world.run()
    assert [3, 5] == commits


def test_what_json_cannot_hold_is_shown_as_text(vhost, kept):
    arguments = Table({"nan": float("nan"), "octets": b"\xff", "deep": [{"x": b"a"}], "none": None})
    queue(vhost, "q", arguments)
    shown = kept.value("queue", "/", "q")["arguments"]
    assert {"nan": "nan", "octets": "\ufffd", "deep": [{"x": "a"}], "none": None} == shown
