"""pipeline_status says which words the pipeline's program gets."""

from pybroker.control import commands


def words(**given):
    command = commands.load("pipeline_status")
    return command.run(None, command.parse(given))["words"]


def test_what_was_given_is_said():
    assert words() == ["status"]
    assert words(warehouse="/w") == ["status", "--warehouse", "/w"]
