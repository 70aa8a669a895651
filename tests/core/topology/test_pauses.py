"""Orders of operators: kept over a restart, told as events, and no part of what is exported."""

import json

from pybroker.core.events.cause import Cause
from pybroker.core.topology.pauses import Pauses
from tests.core.kept import again, new_broker, queue
from tests.fakes import World

OPERATOR = Cause("command pause_queue", "ann", "uid 0 (pid 1)")


def test_an_order_outlives_a_restart_with_who_when_and_why():
    broker = new_broker()
    made = queue(broker.vhosts["/"], "q")
    position = broker.pauses.pause_queue(made, "migration", OPERATOR, consume=False, mode="refuse")
    assert position == broker.definitions.commit_position
    restarted = again(broker)
    found = restarted.vhosts["/"].queues["q"]
    assert found.paused == made.paused
    assert (found.paused.user, found.paused.why, found.paused.what) == ("ann, uid 0 (pid 1)", "migration", "publish")
    assert restarted.vhosts["/"].paused == {found: None}
    restarted.pauses.resume_queue(found, OPERATOR)
    assert again(restarted).vhosts["/"].queues["q"].paused is None


def test_an_order_of_a_later_version_stops_no_queue():
    broker = new_broker()
    made = queue(broker.vhosts["/"], "q")
    broker.pauses.pause_queue(made, "migration", OPERATOR)
    key = ("queue", ("/", "q"))
    value = json.loads(broker.definitions.texts[key])
    value["paused"]["mode"] = "sideways"
    broker.definitions.texts[key] = json.dumps(value)
    restarted = again(broker)
    assert "q" in restarted.vhosts["/"].queues
    assert restarted.notices == ["queue (vhost '/', name 'q') cannot be restored: unknown mode of a pause 'sideways'"]


def test_a_later_order_adds_to_the_first():
    made = queue(new_broker().vhosts["/"], "q")
    pauses = made.vhost.broker.pauses
    pauses.pause_queue(made, "one", OPERATOR, consume=False, mode="refuse")
    pauses.pause_queue(made, "two", OPERATOR, publish=False)
    assert (made.paused.what, made.paused.mode, made.paused.why) == ("publish,consume", "refuse", "two")


def test_an_operator_of_the_system_is_named_by_the_system():
    made = queue(new_broker().vhosts["/"], "q")
    cause = Cause("command pause_queue", "rmq-cli", "ann as root (uid 0, pid 1)")
    made.vhost.broker.pauses.pause_queue(made, "one", cause)
    assert made.paused.user == "ann as root (uid 0, pid 1)"


def test_an_export_says_nothing_of_it():
    broker = new_broker()
    made = queue(broker.vhosts["/"], "q")
    before = list(broker.transfer.exported())
    broker.pauses.pause_queue(made, "migration", OPERATOR)
    assert list(broker.transfer.exported()) == before


def test_orders_are_events():
    world = World()
    told = []
    world.broker.events.add_receiver(lambda name, facts, cause, _more: told.append((name, dict(facts), cause)))
    peer = world.connect()
    peer.declare("q")
    peer.consume("q", "t")
    told.clear()
    made = world.vhost.queues["q"]
    world.broker.pauses.pause_queue(made, "slow", OPERATOR, publish=False)
    world.broker.pauses.pause_queue(made, "migration", OPERATOR)
    world.broker.pauses.resume_queue(made, OPERATOR, publish=False)
    world.broker.pauses.resume_queue(made, OPERATOR)
    (reader,) = made.consumers
    world.broker.pauses.pause_consumer(reader, "slow", OPERATOR)
    world.broker.pauses.resume_consumer(reader, OPERATOR)
    of_queue = {"name": "q", "vhost": "/"}
    of_reader = {"consumer_tag": "t", "queue": "q", "vhost": "/", "connection_name": peer.session.name, "why": "slow"}
    replaced = {"replaced_user": "ann, uid 0 (pid 1)", "replaced_why": "slow"}
    both = {"paused": "publish,consume", "mode": "withhold", "why": "migration"}
    assert told == [
        ("queue.paused", {**of_queue, "paused": "consume", "mode": "", "why": "slow"}, OPERATOR),
        ("queue.paused", {**of_queue, **both, **replaced}, OPERATOR),
        ("queue.resumed", {**of_queue, "paused": "publish", "mode": "withhold", "why": "migration"}, OPERATOR),
        ("queue.resumed", {**of_queue, "paused": ""}, OPERATOR),
        ("consumer.paused", of_reader, OPERATOR),
        ("consumer.resumed", of_reader, OPERATOR),
    ]


def test_sessions_of_the_virtual_host_look_again(monkeypatch):
    world = World()
    peer = world.connect()
    looked = []
    monkeypatch.setattr(type(peer.session), "heed_pauses", lambda session: looked.append(session))  # noqa: PLW0108 - a method
    Pauses(world.turn).look_again(world.vhost)
    world.run()
    assert looked == [peer.session]
