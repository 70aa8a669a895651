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


def test_streams_are_read_from_a_broker_anywhere():
    command = commands.load("pipeline_follow")
    args = command.parse({"source": "streams", "host": "mq", "stream_port": 5553})
    words = command.run(None, args)["words"]
    assert words[3:5] == ["--from", "streams"]
    assert words[words.index("--host") :][:2] == ["--host", "mq"]
    assert words[words.index("--stream-port") :][:2] == ["--stream-port", "5553"]
