from pybroker.control import listeners


def test_addresses_of_ipv6_stand_in_brackets_and_paths_for_themselves(operator):
    operator.listen(("::", 5672), ("127.0.0.1", 5673), ("/run/amqp.sock", 0))
    found = listeners.documents(operator.world.broker)
    assert [one["interface"] for one in found] == ["[::]", "127.0.0.1", "/run/amqp.sock"]
    assert {one["node"] for one in found} == {"pybroker@vm"}
    assert listeners.lines(found)[2] == "Interface: /run/amqp.sock, port: 0, protocol: amqp, purpose: AMQP 0-9-1"


def test_a_port_of_both_families_is_one(operator):
    operator.listen(("::", 5672), ("0.0.0.0", 5672), ("::", 80), ("/b", 0), ("/a", 0))
    assert listeners.ports(operator.world.broker) == "80, 5672, /a, /b"
