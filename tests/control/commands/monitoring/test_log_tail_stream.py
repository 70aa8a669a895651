import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments


def test_lines_are_told_as_they_come_and_let_go_of_at_the_end(operator):
    operator.ask("log_tail_stream", duration=1)
    assert ["one line", "another line"] == [line for batch in operator.steps for line in batch]
    assert (10, ["log let go"]) == (len(operator.pauses), operator.daemon.asked)


@pytest.mark.parametrize("seconds", [0, -1, 10**9])
def test_a_time_that_cannot_be_is_refused(seconds):
    with pytest.raises(BadArguments, match="--duration must be from"):
        commands.load("log_tail_stream").parse({"duration": seconds})
