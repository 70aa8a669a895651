"""pipeline_run says which words the pipeline's program gets."""

from pybroker.control import commands


def words(**given):
    command = commands.load("pipeline_run")
    return command.run(None, command.parse(given))["words"]


def test_what_was_given_is_said():
    assert words(job="all") == ["run", "all", "--since", "7d"]
    given = words(job="ingest", since="1d", until="2026-01-01", warehouse="/w", telemetry="/t", master="local[2]")
    expected = ["run", "ingest", "--since", "1d", "--until", "2026-01-01"]
    assert given == [*expected, "--warehouse", "/w", "--telemetry", "/t", "--master", "local[2]"]
