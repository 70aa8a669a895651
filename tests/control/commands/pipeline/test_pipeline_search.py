"""pipeline_search says which words the pipeline's program gets."""

import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments


def words(**given):
    command = commands.load("pipeline_search")
    return command.run(None, command.parse(given))["words"]


def test_what_was_given_is_said():
    assert words(stream="s") == ["search", "--vhost", "/", "--stream", "s", "--limit", "100"]
    given = words(super_stream="s", uri_file="/u", key="a.#", header=("x=1", "y="), text="-t", since="1h", limit=5)
    assert given[1:7] == ["--super-stream", "s", "--uri-file", "/u", "--limit", "5"]
    assert given[7:] == ["--key=a.#", "--text=-t", "--since=1h", "--header=x=1", "--header=y="]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "--stream or --super-stream"),
        ({"stream": "s", "super_stream": "t"}, "cannot be combined"),
        ({"stream": "s", "limit": 0}, "--limit must be above 0"),
        ({"stream": "s", "correlation_id": ""}, "--correlation-id must not be empty"),
        ({"stream": "s", "header": ("x",)}, "--header is NAME=VALUE, not 'x'"),
    ],
)
def test_what_makes_no_sense_is_refused(given, text):
    with pytest.raises(BadArguments) as caught:
        words(**given)
    assert text in str(caught.value)
