"""pipeline_follow says which words the pipeline's program gets."""

from pybroker.control import commands


def words(**given):
    command = commands.load("pipeline_follow")
    return command.run(None, command.parse(given))["words"]


def test_what_was_given_is_said():
    assert words() == ["follow", "--since", "7d"]
    assert words(since="1d", warehouse="/w", remote="sc://h") == [
        *("follow", "--since", "1d", "--warehouse", "/w", "--remote", "sc://h")
    ]
