"""pipeline_export says which words the pipeline's program gets."""

import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments


def words(**given):
    command = commands.load("pipeline_export")
    return command.run(None, command.parse(given))["words"]


def test_what_was_given_is_said():
    assert words(queue="q", to="/lake") == ["export", "--to", "/lake", "--vhost", "/", "--queue", "q"]
    given = words(queue="q", to="/lake", port=5673, available_now=True, password_file="/p", remote="sc://h")
    assert given[5:] == [
        "--port",
        "5673",
        "--password-file",
        "/p",
        "--queue",
        "q",
        "--available-now",
        "--remote",
        "sc://h",
    ]
    assert words(queue="q", to="/lake", uri_file="/u")[3:5] == ["--uri-file", "/u"]


def test_a_stream_is_read_at_its_own_port():
    given = words(stream="s", to="/lake", stream_port=5552)
    assert given == ["export", "--to", "/lake", "--vhost", "/", "--stream", "s", "--stream-port", "5552"]
    given = words(super_stream="s", to="db.table", format="iceberg", checkpoint="/c", uri_file="/u")
    assert given[3:] == ["--super-stream", "s", "--uri-file", "/u", "--format", "iceberg", "--checkpoint", "/c"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "not enough arguments"),
        ({"queue": "q"}, "not enough arguments"),
        ({"to": "/lake"}, "--queue, --stream and --super-stream"),
        ({"to": "/lake", "queue": "q", "stream": "s"}, "--queue and --stream cannot be combined"),
        ({"to": "/lake", "queue": "q", "format": "delta", "checkpoint": "/c"}, "needs a stream and --checkpoint"),
        ({"to": "/lake", "stream": "s", "format": "delta"}, "needs a stream and --checkpoint"),
        ({"to": "/lake", "stream": "s", "port": 5672}, "of a stream it is --stream-port"),
        ({"to": "/lake", "queue": "q", "stream_port": 5552}, "--stream-port is for a stream"),
        ({"to": "/lake", "stream": "s", "master": "local"}, "without Spark"),
        ({"to": "/lake", "stream": "s", "checkpoint": "/c"}, "--checkpoint is for --format delta and iceberg"),
    ],
)
def test_what_and_where_to_has_to_be_said(given, text):
    with pytest.raises(BadArguments) as caught:
        words(**given)
    assert text in str(caught.value)
