import socket

import pytest

from pybroker.control.spec import Refused
from pybrokerctl.locate import explain_unreachable, is_same_node, locate


@pytest.fixture
def node(folder):
    """Let a node of a name run."""
    listeners = []

    def run(name):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(folder / f"{name}.sock"))
        listener.listen()
        listeners.append(listener)
        return folder / f"{name}.sock"

    yield run
    for listener in listeners:
        listener.close()


def refusal(*args):
    with pytest.raises(Refused) as refused:
        locate(*args)
    return refused.value.exit_code, refused.value.text


def test_the_default_node_is_meant_without_options(node, folder):
    assert locate(None, None) == (folder / "pybroker@vm.sock", "pybroker@vm")
    path = node("pybroker@vm")
    node("other@vm")
    assert locate(None, None) == (path, "pybroker@vm")


def test_the_only_node_is_meant_if_the_default_one_is_not_there(node):
    path = node("other@vm")
    assert locate(None, None) == (path, "other@vm")


def test_several_nodes_must_be_told_apart(node):
    node("a@vm")
    path = node("b@vm")
    assert refusal(None, None) == (64, "several nodes run here: a@vm, b@vm; choose one with -n")
    assert locate("b@vm", None) == (path, "b@vm")
    assert locate("b", None) == (path, "b@vm")


def test_a_socket_given_is_taken(tmp_path, monkeypatch):
    path = tmp_path / "x@vm.sock"
    assert locate(None, str(path)) == (path, "x@vm")
    assert locate("y@vm", str(tmp_path / "any")) == (tmp_path / "any", "y@vm")
    monkeypatch.setenv("PYBROKER_SOCKET", str(path))
    assert locate(None, None) == (path, "x@vm")
    assert locate(None, "/other").path.name == "other"


def test_rabbit_means_the_local_node(node):
    path = node("pybroker@vm")
    for name in ("rabbit@vm", "rabbit", "rabbit@localhost", "rabbit@vm.example.org"):
        assert locate(name, None).path == path


def test_a_node_called_rabbit_is_itself(node):
    node("pybroker@vm")
    path = node("rabbit@vm")
    assert locate("rabbit@vm", None) == (path, "rabbit@vm")


def test_an_unknown_node_is_not_replaced_by_another(node, folder):
    node("pybroker@vm")
    assert locate("nosuch@vm", None) == (folder / "nosuch@vm.sock", "nosuch@vm")


@pytest.mark.parametrize("name", ["x@test", "x", "x@localhost", "x@test.example.org"])
def test_a_node_is_found_by_any_form_of_its_name(node, monkeypatch, name):
    monkeypatch.setattr(socket, "gethostname", lambda: "test.example.org")
    path = node("x@test")
    assert locate(name, None) == (path, "x@test")


def test_forms_of_a_name():
    assert is_same_node("x@a.example.org", "x@a")
    assert not is_same_node("x@a", "x@b")
    assert not is_same_node("x", "y@a")
    assert not is_same_node("", "y@a")


def test_another_host_is_out_of_reach():
    text = "node 'rabbit@far' is on another host; pybrokerctl reaches the nodes of vm.example.org only"
    assert refusal("rabbit@far", None) == (69, text)


def test_who_may_not_connect_is_told_as_whom_to_try(tmp_path):
    path = tmp_path / "s.sock"
    path.touch()
    text = explain_unreachable("n@vm", path, "Permission denied")
    assert f"sudo -u {path.owner()} pybrokerctl" in text


def test_no_other_node_means_none_in_the_usual_folders(folder):
    text = explain_unreachable("n@vm", folder / "n@vm.sock", "No such file or directory")
    assert "other nodes on this host: none with a socket in " in text
    assert str(folder) in text


def test_other_nodes_are_suggested(node, folder):
    node("other@vm")
    text = explain_unreachable("n@vm", folder / "n@vm.sock", "No such file or directory")
    assert "other nodes on this host: other@vm" in text
    assert "suggestion: use -n other@vm" in text
