from pamqp import commands

Exchange, Queue = commands.Exchange, commands.Queue


def test_the_default_exchange_binds_every_queue_once(operator, peer):
    peer.declare("q")
    assert operator.list("list_bindings") == [["", "exchange", "q", "queue", "q", []]]


def test_bindings_to_queues_and_exchanges(operator, peer):
    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="amq.headers", routing_key="k", arguments={"x-match": "any", "a": 1}))
    peer.call(Exchange.Bind(destination="amq.topic", source="amq.direct", routing_key="key"))
    shown = operator.list("list_bindings", "source_name", "destination_name", "destination_kind", "routing_key")
    assert sorted(shown) == [
        ["", "q", "queue", "q"],
        ["amq.direct", "amq.topic", "exchange", "key"],
        ["amq.headers", "q", "queue", "k"],
    ]
    arguments = [row for row in operator.list("list_bindings", "arguments") if row]
    assert [sorted(one) for one in arguments] == [[["a", "byte", 1], ["x-match", "longstr", "any"]]]
