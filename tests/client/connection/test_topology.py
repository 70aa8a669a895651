"""The topology that a recovery declares again."""

from pybroker.client.connection.topology import BindingRecord, ExchangeRecord, QueueRecord, Topology


def exchange(name, auto_delete=False):
    return ExchangeRecord(name, "direct", False, auto_delete, False, {})


def queue(name, auto_delete=False, server_named=False):
    return QueueRecord(name, False, False, auto_delete, {}, server_named)


def binding(source, destination, key="k", to_exchange=False, arguments=None):
    return BindingRecord(to_exchange, destination, source, key, arguments or {})


def filled():
    topology = Topology()
    topology.add_exchange(exchange("e"))
    topology.add_exchange(exchange("f"))
    topology.add_queue(queue("q"))
    topology.add_binding(binding("e", "q"))
    topology.add_binding(binding("e", "f", to_exchange=True))
    return topology


def test_what_was_declared_is_there_in_order_and_once():
    topology = filled()
    topology.add_binding(binding("e", "q"))
    assert [e.name for e in topology.exchanges] == ["e", "f"]
    assert [(b.source, b.destination) for b in topology.bindings] == [("e", "q"), ("e", "f")]


def test_predeclared_exchanges_are_not_ours():
    topology = Topology()
    topology.add_exchange(exchange("amq.topic"))
    topology.add_exchange(exchange(""))
    assert topology.exchanges == ()


def test_bindings_of_other_arguments_are_other_bindings():
    topology = filled()
    topology.add_binding(binding("e", "q", arguments={"x": 1}))
    topology.remove_binding(binding("e", "q"))
    assert [b.arguments for b in topology.bindings] == [{}, {"x": 1}]


def test_a_deleted_exchange_takes_its_bindings_along():
    topology = filled()
    topology.remove_exchange("f")
    assert [b.destination for b in topology.bindings] == ["q"]
    topology.remove_exchange("e")
    assert topology.bindings == ()


def test_a_deleted_queue_takes_its_bindings_along():
    topology = filled()
    topology.remove_queue("q")
    assert (topology.queues, [b.destination for b in topology.bindings]) == ((), ["f"])


def test_an_auto_delete_exchange_goes_with_its_last_binding():
    topology = Topology()
    topology.add_exchange(exchange("e", auto_delete=True))
    topology.add_exchange(exchange("f", auto_delete=True))
    topology.add_queue(queue("q"))
    topology.add_binding(binding("e", "f", to_exchange=True))
    topology.add_binding(binding("f", "q"))
    topology.remove_queue("q")
    assert (topology.exchanges, topology.bindings) == ((), ())


def test_an_auto_delete_queue_goes_with_its_last_consumer():
    topology = filled()
    topology.add_queue(queue("r", auto_delete=True))
    topology.remove_unconsumed("q")
    topology.remove_unconsumed("r")
    assert [q.name for q in topology.queues] == ["q"]


def test_g4_a_server_named_queue_keeps_its_bindings_under_its_new_name():
    topology = filled()
    topology.add_queue(queue("amq.gen-1", server_named=True))
    topology.add_binding(binding("e", "amq.gen-1"))
    topology.rename_queue("amq.gen-1", "amq.gen-2")
    assert [(q.name, q.server_named) for q in topology.queues] == [("q", False), ("amq.gen-2", True)]
    assert [b.destination for b in topology.bindings] == ["q", "f", "amq.gen-2"]
