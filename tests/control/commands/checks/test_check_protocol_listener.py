import pytest

from pybroker.control.spec import Refused


@pytest.mark.parametrize("name", ["amqp", "AMQP", "amqp091", "amqp0-9-1"])
def test_a_protocol_that_is_listened_for_passes_by_any_of_its_names(operator, name):
    operator.listen(("::", 5672))
    text = "A listener for protocol amqp is running on node pybroker@vm."
    assert operator.ask("check_protocol_listener", protocol=name) == text


def test_another_one_fails(operator):
    operator.listen(("::", 5672), ("0.0.0.0", 5672))
    with pytest.raises(Refused) as refused:
        operator.ask("check_protocol_listener", protocol="mqtt")
    assert refused.value.exit_code == 69
    assert refused.value.text == (
        "No listener for protocol mqtt is active on node pybroker@vm. Found listeners for the following protocols: amqp"
    )
