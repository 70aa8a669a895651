from pamqp import commands

Exchange = commands.Exchange


def test_a_virtual_host_has_rabbitmqs_exchanges(operator):
    assert sorted(operator.list("list_exchanges")) == [
        ["", "direct"],
        ["amq.direct", "direct"],
        ["amq.fanout", "fanout"],
        ["amq.headers", "headers"],
        ["amq.match", "headers"],
        ["amq.rabbitmq.event", "topic"],
        ["amq.rabbitmq.trace", "topic"],
        ["amq.topic", "topic"],
    ]


def test_properties_of_a_declared_one(operator, peer):
    arguments = {"alternate-exchange": "ae"}
    peer.call(Exchange.Declare(exchange="x", exchange_type="fanout", durable=True, internal=True, arguments=arguments))
    shown = operator.list("list_exchanges", "name", "durable", "auto_delete", "internal", "arguments", "policy")
    assert shown[-1] == ["x", True, False, True, [["alternate-exchange", "longstr", "ae"]], ""]
