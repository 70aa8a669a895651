import json

from pybroker.core.transfer.document import read_item
from pybroker.core.transfer.exported import Present
from tests.core.transfer.documents import imported
from tests.fakes import Exchange, Queue, World


def exported(world, section):
    return world.broker.transfer.whole()[section]


def test_what_everybody_has_is_left_out():
    world = World()
    found = world.broker.transfer.whole()
    assert [] == found["exchanges"] == found["bindings"] == found["queues"]
    assert [{"name": "/", "limits": [], "metadata": {"description": "Default virtual host", "tags": []}}] == found[
        "vhosts"
    ]
    assert ["guest"] == [user["name"] for user in found["users"]]
    json.dumps(found)


def test_what_is_exclusive_is_left_out_with_its_bindings():
    """F7: it cannot be restored."""
    world = World()
    peer = world.connect()
    peer.declare("mine", exclusive=True)
    peer.declare("shared")
    for name in ("mine", "shared"):
        peer.call(Queue.Bind(queue=name, exchange="amq.direct", routing_key="k"))
    assert ["shared"] == [queue["name"] for queue in exported(world, "queues")]
    assert ["shared"] == [binding["destination"] for binding in exported(world, "bindings")]


def test_internal_exchanges_are_there():
    """Differs from RabbitMQ: a copy would lack them, and their bindings."""
    world = World()
    peer = world.connect()
    peer.call(Exchange.Declare(exchange="in", exchange_type="topic", internal=True, durable=True))
    assert True is exported(world, "exchanges")[0]["internal"]
    copy = World()
    assert 1 == imported(copy, world.broker.transfer.whole()).counts["create"]
    assert copy.vhost.exchanges["in"].internal


def test_what_the_node_keeps_for_itself_is_left_out():
    world = World()
    for name in ("internal_x", "team"):
        world.broker.parameters.set_global(name, 1)
    assert [{"name": "team", "value": 1}] == exported(world, "global_parameters")


def test_limits_stand_in_two_places():
    """As in RabbitMQ; the parameter counts."""
    world = World()
    world.broker.parameters.set("/", "vhost-limits", "limits", {"max-queues": 5, "max-connections": 1})
    assert [["max-connections", 1], ["max-queues", 5]] == exported(world, "vhosts")[0]["limits"]
    assert {"max-queues": 5, "max-connections": 1} == exported(world, "parameters")[0]["value"]


def test_unknown_components_are_exported_again_unchanged():
    world = World()
    shovel = {"vhost": "/", "component": "shovel", "name": "s", "value": {"src-uri": "amqp://", "n": [["a", 1]]}}
    sets = {"vhost": "/", "component": "federation-upstream-set", "name": "f", "value": [{"upstream": "u"}]}
    outcome = imported(world, {"parameters": [shovel, {**shovel, "name": "t"}, sets]})
    assert [
        "component 'shovel' is unknown: its parameters are stored for an export, but have no effect",
        "component 'federation-upstream-set' is unknown: its parameters are stored for an export, but have no effect",
    ] == list(outcome.warnings)
    assert [shovel, {**shovel, "name": "t"}, sets] == exported(world, "parameters")


def test_a_binding_is_found_whatever_the_numbers_in_it_were():
    """JSON does not tell a short from a long: that makes no second binding."""
    world = World()
    peer = world.connect()
    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="amq.headers", arguments={"n": 5, "x-match": "all"}))
    item = read_item("bindings", exported(world, "bindings")[0])
    assert {} == Present(world.broker).find("bindings", item.key)
    other = read_item("bindings", {**exported(world, "bindings")[0], "arguments": {"n": 6}})
    assert None is Present(world.broker).find("bindings", other.key)
    imported(world, world.broker.transfer.whole())
    assert 1 == len(exported(world, "bindings"))


def test_what_is_nowhere_is_not_found():
    present = Present(World().broker)
    keys = {
        "users": 1,
        "vhosts": 1,
        "permissions": 2,
        "topic_permissions": 3,
        "exchanges": 2,
        "queues": 2,
        "policies": 2,
    }
    keys |= {"parameters": 3, "global_parameters": 1, "bindings": 6}
    assert {None} == {present.find(section, ("x",) * count) for section, count in keys.items()}
