import pytest

from pybroker.control import alarms
from pybroker.control.spec import Refused


def test_without_any_nothing_is_refused(operator):
    alarms.check(operator.world.broker)


def test_each_is_a_line_in_rabbitmqs_words_with_its_reason(operator):
    operator.world.broker.alarms.set("disk", "no room")
    operator.world.broker.alarms.set("memory", "too much")
    with pytest.raises(Refused) as refused:
        alarms.check(operator.world.broker)
    assert refused.value.exit_code == 69
    assert refused.value.text.splitlines() == [
        "Free disk space alarm on node pybroker@vm: no room",
        "Memory alarm on node pybroker@vm: too much",
    ]
