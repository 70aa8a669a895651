import pytest

from pybroker.control.spec import BadArguments


def test_the_last_lines_are_shown_fifty_by_default(operator):
    document = operator.ask("log_tail")
    assert document["message"] == "one line\nanother line"
    assert document["lines"] == ["one line", "another line"]
    operator.ask("log_tail", number=3)
    assert operator.daemon.asked == ["log_tail 50", "log_tail 3"]


@pytest.mark.parametrize("number", [0, -1, 10_001])
def test_a_number_that_cannot_be_is_refused(operator, number):
    with pytest.raises(BadArguments) as refused:
        operator.ask("log_tail", number=number)
    assert refused.value.text == "Bad argument: --number must be from 1 to 10000"
    assert refused.value.exit_code == 65
