import pytest

from pybroker.control import commands
from pybroker.control.spec import Refused


def test_every_listener_is_connected_to(operator):
    operator.listen(("::", 5672), ("0.0.0.0", 5672), ("/run/amqp.sock", 0))
    text = "Successfully connected to ports 5672, /run/amqp.sock on node pybroker@vm."
    assert operator.ask("check_port_connectivity") == text
    assert operator.daemon.asked == ["connect :: 5672", "connect 0.0.0.0 5672", "connect /run/amqp.sock 0"]


def test_an_address_stands_for_that_of_the_listener(operator):
    operator.listen(("::", 5672), ("0.0.0.0", 5672), ("/run/amqp.sock", 0))
    text = operator.ask("check_port_connectivity", address="10.0.0.1")
    assert text.endswith(" on node pybroker@vm (using 10.0.0.1 for target IP address)")
    assert operator.daemon.asked == ["connect 10.0.0.1 5672", "connect /run/amqp.sock 0"]


def test_those_that_cannot_be_reached_are_named_with_the_reason(operator):
    operator.listen(("::", 5672))
    operator.daemon.unreachable = "Connection refused"
    with pytest.raises(Refused) as refused:
        operator.ask("check_port_connectivity")
    assert refused.value.exit_code == 69
    assert refused.value.text.splitlines() == [
        "Connection to ports of the following listeners on node pybroker@vm failed: ",
        "Interface: [::], port: 5672, protocol: amqp, purpose: AMQP 0-9-1 (Connection refused)",
    ]


def test_the_banner_names_the_address():
    command = commands.load("check_port_connectivity")
    assert command.banner(command.args()) == "Testing TCP connections to all active listeners on node {node} ..."
    assert "using {address} for node IP address" in command.banner(command.args("10.0.0.1"))
