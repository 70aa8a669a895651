import pytest

from pybroker.control.spec import Refused


def test_a_port_that_is_listened_on_passes(operator):
    operator.listen(("::", 5672), ("/run/amqp.sock", 0))
    text = "A listener for port 5672 is running on node pybroker@vm."
    assert operator.ask("check_port_listener", port=5672) == text


@pytest.mark.parametrize("port", [9999, 0])
def test_another_one_fails_and_those_that_are_there_are_named(operator, port):
    operator.listen(("::", 5672), ("0.0.0.0", 5672), ("::", 5673), ("/run/amqp.sock", 0))
    with pytest.raises(Refused) as refused:
        operator.ask("check_port_listener", port=port)
    assert refused.value.exit_code == 69
    assert refused.value.text == (
        f"No listener for port {port} is active on node pybroker@vm. "
        "Found listeners that use the following ports: 5672, 5673, /run/amqp.sock"
    )
