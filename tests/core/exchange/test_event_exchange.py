"""core/exchange/event_exchange.py by itself; what clients see of it stands in flows/test_events.py."""

from pamqp import commands

from pybroker.core.events.cause import BROKER, because
from pybroker.core.exchange.event_exchange import EXCHANGE, as_table
from pybroker.wire.table import Table
from tests.fakes import World


def test_facts_are_typed_as_rabbitmqs_plugin_does():
    table = as_table(
        {
            "text": "x",
            "yes": True,
            "whole": 5,
            "part": 0.5,
            "table": {"n": 1, "deep": {"b": False}},
            "list": ["a", 1, {"k": "v"}],
            "none": [],
            "arguments": Table({"n": 5}, {"n": "I"}),
            "nothing": None,
        }
    )
    assert {
        "text": "S",
        "yes": "t",
        "whole": "l",
        "part": "f",
        "table": "F",
        "list": "A",
        "none": "A",
        "arguments": "A",
        "nothing": "S",
    } == {key: table.type_of(key) for key in table}
    assert ("l", "F") == (table["table"].type_of("n"), table["table"].type_of("deep"))
    assert ["S", "l", "F"] == table["list"].letters()
    assert ['{<<"n">>,signedint,5}'] == table["arguments"]


def test_the_audit_log_hears_all_of_it_at_once_and_more():
    events = World().broker.events
    heard = []

    def receiver(*given):
        heard.append(given)

    events.add_receiver(receiver)
    assert events.wanted
    cause = because("why")
    events.emit("queue.deleted", {"name": "q"}, cause, {"messages": 7})
    events.note("command", {"name": "reset"}, cause)
    events.emit("user.created", {"name": "u"}, BROKER)
    assert [
        ("queue.deleted", {"name": "q"}, cause, {"messages": 7}),
        ("command", {"name": "reset"}, cause, {}),
        ("user.created", {"name": "u"}, BROKER, {}),
    ] == heard
    assert 0 == len(events)
    events.remove_receiver(receiver)
    assert not events.wanted
    events.emit("queue.deleted", {"name": "q"}, cause)
    events.note("command", {"name": "reset"}, cause)
    assert 3 == len(heard)


def test_events_of_a_start_wait_until_the_log_is_read():
    world = World()
    peer = world.connect()
    peer.declare("told")
    peer.call(commands.Queue.Bind(queue="told", exchange=EXCHANGE, routing_key="alarm.#"))
    world.run()
    events = world.broker.events
    events.ready = False
    world.broker.alarms.set("memory", "full")
    world.run()
    assert (1, 0) == (len(events), world.vhost.queues["told"].messages_ready)
    events.begin()
    world.run()
    assert (0, 1) == (len(events), world.vhost.queues["told"].messages_ready)


def test_an_event_exchange_that_is_gone_gets_nothing():
    world = World()
    peer = world.connect()
    peer.declare("told")
    peer.call(commands.Queue.Bind(queue="told", exchange=EXCHANGE, routing_key="#"))
    world.run()
    exchange = world.vhost.exchanges[EXCHANGE]
    published = exchange.publish_in
    world.broker.delete_vhost("/")
    world.broker.events.emit("queue.deleted", {"name": "q"})
    world.run()
    assert (published, 0) == (exchange.publish_in, len(world.broker.events))


def test_with_its_virtual_host_gone_nobody_listens_though_it_led_to_an_exchange():
    world = World()
    peer = world.connect()
    peer.call(commands.Exchange.Bind(destination="amq.fanout", source=EXCHANGE, routing_key="#"))
    world.run()
    events = world.broker.events
    assert events.heard
    world.broker.delete_vhost("/")
    assert (False, False, 0) == (events.heard, events.wanted, len(events))


def test_after_a_reset_it_is_where_it_was_configured_to_be():
    world = World(event_vhost="events")
    world.broker.events.ensure_vhost()
    world.broker.reset()
    assert EXCHANGE in world.broker.vhosts["events"].exchanges
