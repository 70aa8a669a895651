"""pipeline_package says which words the pipeline's program gets."""

from pybroker.control import commands


def words(**given):
    command = commands.load("pipeline_package")
    return command.run(None, command.parse(given))["words"]


def test_what_was_given_is_said():
    assert words() == ["package", "--output", "pybroker_spark.zip"]
    assert words(output="a.zip") == ["package", "--output", "a.zip"]
