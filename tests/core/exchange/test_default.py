from pybroker.core.topology.exchange_declare import binding_count
from tests.topology import names, new_vhost, queue, reached


def test_every_queue_is_reached_by_its_name():
    vhost = new_vhost()
    assert reached(vhost, "", "q") == []
    q = queue(vhost, "q")
    assert reached(vhost, "", "q") == ["q"]
    assert binding_count(q) == 0


def test_its_bindings_are_implicit_and_count_as_bindings():
    vhost = new_vhost()
    for name in "ab":
        queue(vhost, name)
    default = vhost.exchanges[""]
    assert (default.TYPE, default.durable, default.auto_delete) == ("direct", True, False)
    assert [(b.destination.name, b.routing_key) for b in default.bindings()] == [("a", "a"), ("b", "b")]
    assert default.binding_count == 2
    assert names(vhost.queues.values()) == ["a", "b"]


def test_no_key_leads_to_a_stream_of_the_broker():
    vhost = new_vhost()
    queue(vhost, "amq.pybroker.events")
    assert reached(vhost, "", "amq.pybroker.events") == []
