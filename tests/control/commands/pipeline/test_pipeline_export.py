"""pipeline_export says which words the pipeline's program gets."""

import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments


def words(**given):
    command = commands.load("pipeline_export")
    return command.run(None, command.parse(given))["words"]


def test_what_was_given_is_said():
    assert words(queue="q", to="/lake") == ["export", "--queue", "q", "--to", "/lake", "--vhost", "/"]
    given = words(queue="q", to="/lake", port=5673, available_now=True, password_file="/p", remote="sc://h")
    assert given[-7:] == ["--port", "5673", "--password-file", "/p", "--available-now", "--remote", "sc://h"]
    assert words(queue="q", to="/lake", uri_file="/u")[5:] == ["--uri-file", "/u"]


@pytest.mark.parametrize("given", [{}, {"queue": "q"}, {"to": "/lake"}])
def test_what_and_where_to_has_to_be_said(given):
    with pytest.raises(BadArguments, match="not enough arguments"):
        words(**given)
