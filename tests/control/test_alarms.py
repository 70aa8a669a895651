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
        "Free disk space alarm on node pybroker@vm: no room (for 0.0 s)",
        "Memory alarm on node pybroker@vm: too much (for 0.0 s)",
    ]


def test_alarms_of_other_nodes_are_not_local(operator):
    operator.world.broker.alarms.set("memory", "much", "pybroker@other")
    alarms.check(operator.world.broker, local=True)
    with pytest.raises(Refused):
        alarms.check(operator.world.broker)


def test_an_answer_about_a_limit_tells_whether_publishers_are_blocked(operator):
    broker = operator.world.broker
    assert "" == alarms.told_of_blocking(broker, "memory")
    broker.alarms.set("memory", "much")
    assert "" == alarms.told_of_blocking(broker, "disk")
    told = "\nThe memory alarm is set: much. Publishers are blocked; 'pybrokerctl why_blocked' lists them."
    assert told == alarms.told_of_blocking(broker, "memory")


def test_a_limit_that_cannot_be_reached_is_told_wherever_alarms_are(operator):
    answer = operator.ask("set_vm_memory_high_watermark", threshold="1.5")
    told = answer.splitlines()[1]
    assert told.startswith("The memory alarm is disabled: the limit is 1.5 times the available memory (")
    assert [told] == operator.ask("alarms")["notices"] == operator.ask("status")["notices"]
    assert [told] == operator.ask("why_blocked")["notices"]
    operator.ask("set_vm_memory_high_watermark", threshold="0.4")
    assert [] == operator.ask("alarms")["notices"]
