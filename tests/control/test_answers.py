"""How a request reads in the log."""

from typing import Annotated, NamedTuple

from pybroker.control.answers import describe, error_line
from pybroker.control.spec import Arg, Command, Refused


def test_a_description_shows_what_was_given():
    class Args(NamedTuple):
        name: Annotated[str, Arg("a name")]
        limit: Annotated[int, Arg("a limit", "--limit")] = 0

    command = Command("x", "Tests", "Tests", Args, "write", lambda _node, _args: None)
    assert describe(command, Args("n")) == "x name='n'"
    assert describe(command, Args("n", 5)) == "x name='n' limit=5"


def test_a_refusal_is_one_line():
    assert error_line(Refused("no", 64)) == b'{"error":{"text":"no","exit_code":64}}\n'
