import os

import pytest


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in list(os.environ):
        monkeypatch.delenv(name)


def test_what_means_something_to_the_node_is_listed_in_order(operator, monkeypatch):
    for name, value in (("XDG_RUNTIME_DIR", "/run/user/1"), ("PYBROKER_SOCKET", "/s"), ("EDITOR", "vi")):
        monkeypatch.setenv(name, value)
    document = operator.ask("os_env")
    assert document["message"] == "PYBROKER_SOCKET=/s\nXDG_RUNTIME_DIR=/run/user/1"
    assert document["variables"] == {"PYBROKER_SOCKET": "/s", "XDG_RUNTIME_DIR": "/run/user/1"}


def test_none_is_said_in_a_sentence(operator):
    assert operator.ask("os_env")["message"] == "Node pybroker@vm reported no relevant environment variables."
