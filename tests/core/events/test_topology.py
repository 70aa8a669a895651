from pamqp import commands

from pybroker.core.events.cause import because
from tests.fakes import World


def test_an_exclusive_queue_is_told_of_with_its_owner():
    world = World(node_name="pybroker@vm")
    heard = []
    world.broker.events.add_receiver(lambda event, facts, *_: heard.append((event, facts.get("owner_pid"))))
    peer = world.connect()
    heard.clear()
    peer.declare("own", exclusive=True)
    peer.declare("q")
    assert [("queue.created", peer.session.pid), ("queue.created", "")] == heard


def test_a_deletion_is_told_with_its_cause_and_what_went_with_it():
    world = World()
    heard = []
    peer = world.connect()
    peer.declare("q", durable=True)
    peer.call(commands.Queue.Bind(queue="q", exchange="amq.topic", routing_key="k"))
    peer.publish("", "q", b"")
    world.broker.events.add_receiver(lambda *given: heard.append(given))
    cause = because("why")
    world.vhost.delete_queue(world.vhost.queues["q"], cause)
    named = {"name": "q", "vhost": "/"}
    assert ("queue.deleted", named, cause, {"durable": True, "messages": 1}) == heard[1]
    assert ("binding.deleted", cause) == (heard[0][0], heard[0][2])


def test_a_virtual_host_is_told_of_with_its_exchanges_and_described_anew():
    world = World()
    heard = []
    world.broker.events.add_receiver(lambda event, facts, *_: heard.append((event, facts)))
    world.broker.add_vhost("v", "what for", ("a", "b"))
    vhost = world.broker.vhosts["v"]
    assert {"exchange.created"} == {event for event, _ in heard[:-1]}
    event, facts = heard[-1]
    assert ("vhost.created", "a,b", "undefined") == (event, facts["tags"], facts["default_queue_type"])
    assert '#{description => <<"what for">>,tags => <<"a,b">>}' == facts["metadata"]
    heard.clear()
    vhost.describe(tags=("c",))
    vhost.describe(description="else")
    assert ["vhost.tags.set", "vhost.updated"] == [event for event, _ in heard]
    assert ["c"] == heard[0][1]["tags"]
    heard.clear()
    world.broker.delete_vhost("v")
    assert ["vhost.deleted", "vhost.down"] == [event for event, _ in heard][-2:]
