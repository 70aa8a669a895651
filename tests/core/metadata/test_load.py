"""Rows on disk come back exactly as they were; a row that cannot is reported, and stops nothing."""

import json
import time

import pytest
from hypothesis import given

from pybroker.core.broker import Broker
from pybroker.core.metadata.load import restore
from pybroker.core.metadata.store import save_queue
from pybroker.core.routing.router import route
from pybroker.core.settings import Settings
from pybroker.core.topology.equivalence import assert_equivalent
from pybroker.session import Turn
from pybroker.wire.table import Table, encode_table
from tests.core.kept import again, new_broker, queue
from tests.store.definitions_folder import Folder
from tests.strategies import few, tables
from tests.topology import exchange, link, reached, typed, wired


@pytest.fixture
def broker():
    return new_broker()


@pytest.fixture
def vhost(broker):
    return broker.vhosts["/"]


def properties(made):
    """Return what a declaration says of a queue or exchange."""
    names = ("name", "durable", "auto_delete", "user", "id", "type", "limits", "TYPE", "internal", "alternate")
    return {name: getattr(made, name) for name in names if hasattr(made, name)} | {
        "arguments": encode_table(made.arguments)
    }


@few
@given(tables)
def test_arguments_of_any_type_are_exactly_as_they_were(arguments):
    broker = new_broker()
    vhost = broker.vhosts["/"]
    made = queue(vhost, "q", arguments)
    exchange(vhost, "x", "fanout")
    link(vhost, "x", "q", "k", arguments)
    restarted = again(broker).vhosts["/"]
    found = restarted.queues["q"]
    assert encode_table(made.arguments) == encode_table(found.arguments)
    assert made.arguments == found.arguments
    (binding,) = restarted.exchanges["x"].bindings()
    assert list(vhost.bound[made]) == [binding.key] == list(restarted.bound[found])


def test_every_noun_is_there_again(broker, vhost):
    broker.add_vhost("v", "what for", ("a", "b"), "quorum")
    other = broker.vhosts["v"]
    broker.users.add("u", "secret", ("t",))
    broker.users.set_permissions("u", "v", "c.*", "", ".*")
    broker.users.set_topic_permissions("u", "v", "x", "^{username}", "")
    exchange(vhost, "x", "topic", wired(alternate_exchange="y"), internal=True, user=broker.users.named("guest"))
    exchange(vhost, "h", "headers", auto_delete=True)
    limited = typed("x-message-ttl", "u", 500)
    queue(vhost, "q", limited, auto_delete=True)
    queue(other, "q", wired(x_queue_type="quorum"))
    queue(vhost, "gone", durable=False)
    link(vhost, "x", "q", "a.*")
    link(vhost, "h", "q", "", wired(x_match="any", n=1))
    link(vhost, "x", "x:h", "b")
    restarted = again(broker)
    assert [] == restarted.notices
    found = restarted.vhosts["v"]
    assert ("what for", ("a", "b"), "quorum") == (found.description, found.tags, found.default_queue_type)
    for name, queues in (("/", ["q"]), ("v", ["q"])):
        before, after = broker.vhosts[name], restarted.vhosts[name]
        assert queues == list(after.queues)
        assert [properties(before.queues[q]) for q in queues] == [properties(q) for q in after.queues.values()]
        assert {x: properties(each) for x, each in before.exchanges.items()} == {
            x: properties(each) for x, each in after.exchanges.items()
        }
    user = restarted.users.authenticate("u", "secret")
    assert ("t",) == user.tags
    assert ("c.*", "", ".*") == tuple(user.permissions["v"].text(each) for each in ("configure", "write", "read"))
    assert user.topic_permissions["v", "x"].grants("write", "u.key")
    assert not user.topic_permissions["v", "x"].grants("write", "key")
    assert ["q"] == reached(restarted.vhosts["/"], "x", "a.b")
    assert ["q"] == reached(restarted.vhosts["/"], "x", "b", headers={"n": 1})


def test_a_restored_queue_is_equal_to_a_second_declaration(broker, vhost):
    arguments = typed("x-max-length", "s", 5)
    queue(vhost, "q", arguments)
    found = again(broker).vhosts["/"].queues["q"]
    assert_equivalent(found, durable=True, auto_delete=False, owner=None, arguments=arguments)


def test_a_stream_is_known_to_have_files(broker, vhost):
    stream = queue(vhost, "s", typed("x-queue-type", "S", "stream"))
    assert not again(broker).vhosts["/"].queues["s"].has_files
    stream.note_files()
    save_queue(stream)
    assert again(broker).vhosts["/"].queues["s"].has_files


def test_new_queues_get_ids_above_all_that_were(broker, vhost):
    queue(vhost, "q")
    last = queue(vhost, "last")
    vhost.delete_queue(last)
    restarted = again(broker)
    assert queue(restarted.vhosts["/"], "new").id > last.id


def test_deleted_defaults_stay_deleted(broker):
    broker.users.add("u", "p")
    broker.users.delete("guest")
    broker.add_vhost("v")
    broker.delete_vhost("/")
    restarted = again(broker)
    assert (["v"], ["u"]) == (list(restarted.vhosts), [user.name for user in restarted.users])


def test_the_clusters_name_counts_unless_the_configuration_has_one(broker):
    broker.name_cluster("mine")
    assert "mine" == again(broker, node_name="a@b", cluster_name="a@b").settings.cluster_name
    assert "configured" == again(broker, node_name="a@b", cluster_name="configured").settings.cluster_name


def test_x_expires_begins_anew(broker, vhost):
    queue(vhost, "q", wired(x_expires=1_000))
    restarted = again(broker)
    restarted.clock.advance(999)
    restarted.timers.run(restarted.clock.now_ms)
    assert ["q"] == list(restarted.vhosts["/"].queues)
    restarted.clock.advance(1)
    restarted.timers.run(restarted.clock.now_ms)
    assert [] == list(restarted.vhosts["/"].queues)


def test_bindings_of_predeclared_exchanges_and_to_exchanges_route_again(broker, vhost):
    queue(vhost, "q")
    exchange(vhost, "x", "fanout")
    link(vhost, "amq.topic", "x:x", "a.#")
    link(vhost, "x", "q")
    restarted = again(broker).vhosts["/"]
    assert ["q"] == [each.name for each in route(restarted, restarted.exchanges["amq.topic"], ("a.b",), None).queues]


BAD = {
    ("queue", ("lost", "q")): ({}, "vhost 'lost' is missing"),
    ("queue", ("/", "later")): ({"type": "later"}, "unknown queue type 'later'"),
    ("queue", ("/", "hex")): ({"arguments_amqp": "xyz"}, "non-hexadecimal number found in fromhex() arg at position 0"),
    ("queue", ("/", "table")): ({"arguments_amqp": "00000005ff"}, None),
    ("queue", ("/", "bare")): (None, "'auto_delete' is missing"),
    ("exchange", ("/", "x")): ({"type": "x-later"}, "unknown exchange type 'x-later'"),
    ("binding", ("/", "gone", "queue", "q", "", "")): ({}, "exchange 'gone' in vhost '/' is missing"),
    ("binding", ("/", "amq.direct", "queue", "gone", "", "")): ({}, "queue 'gone' in vhost '/' is missing"),
    ("permission", ("gone", "/")): ({}, "user 'gone' is missing"),
    ("permission", ("guest", "/")): ({"configure": "(", "write": "", "read": ""}, "missing ): ("),
    ("topic_permission", ("guest", "gone", "x")): ({}, "vhost 'gone' is missing"),
    ("user", ("u",)): ({"hashing_algorithm": "later"}, "unknown password hashing algorithm 'later'"),
}


@pytest.mark.parametrize(("row", "expected"), BAD.items(), ids=lambda each: str(each[0])[:20])
def test_a_row_that_cannot_be_restored_is_told_of_and_stops_nothing(broker, vhost, row, expected):
    value, reason = expected
    (kind, key) = row
    usual = {"id": 9, "type": "classic", "auto_delete": False, "arguments": {}, "user": "", "configure": ""}
    usual |= {"write": "", "read": "", "password_hash": "", "hashing_algorithm": "", "tags": []}
    queue(vhost, "after", Table())
    broker.definitions.put(kind, key, {"id": 9, "type": "classic"} if value is None else usual | value)
    restarted = again(broker)
    (notice,) = restarted.notices
    assert " cannot be restored: " in notice
    assert reason is None or notice.endswith(reason)
    assert ["after"] == list(restarted.vhosts["/"].queues)


@pytest.mark.slow
def test_a_hundred_thousand_queues_are_one_transaction_and_come_back(tmp_path):
    folder = Folder(tmp_path / "data")
    definitions = folder.open()
    turn = Turn()
    broker = Broker(Settings(), folder.clock, turn, definitions)
    for number in range(100_000):
        queue(broker.vhosts["/"], f"q{number}", wired(x_max_length=5) if number % 2 else Table())
    figures, started = {}, time.process_time()

    def took(what: str) -> None:
        nonlocal started
        now = time.process_time()
        figures[what], started = round(now - started, 2), now

    definitions.commit()
    folder.worker.run()
    took("one transaction")
    assert definitions.completed == definitions.commit_position > 100_000
    folder.stop()
    took("snapshot")
    definitions = folder.open()
    took("read and checked")
    restarted = Broker(Settings(), folder.clock, Turn(), definitions)
    assert [] == restore(restarted, folder.opened.rows, folder.opened.file.state.next_queue_id)
    took("restored")
    assert 100_000 == len(restarted.vhosts["/"].queues)
    assert properties(broker.vhosts["/"].queues["q7"]) == properties(restarted.vhosts["/"].queues["q7"])
    print(json.dumps(figures))


def test_a_consistent_hash_has_the_same_buckets_again(broker, vhost):
    """A later binding stays behind an earlier one: a message is routed to the same queue as before the restart."""
    exchange(vhost, "x", "x-consistent-hash")
    for name in ("c", "a", "b"):
        queue(vhost, name)
        link(vhost, "x", name, "1")
    keys = [str(number) for number in range(40)]
    for name in ("0", "1"):
        before = [reached(vhost, "x", key) for key in keys]
        broker = again(broker)
        vhost = broker.vhosts["/"]
        assert before == [reached(vhost, "x", key) for key in keys]
        queue(vhost, name)
        link(vhost, "x", name, "1")
