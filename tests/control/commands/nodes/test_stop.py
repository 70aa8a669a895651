from pybroker.control import commands
from pybroker.control.commands.nodes import stop


def test_the_daemon_is_asked_to_end(operator):
    assert operator.ask("stop") is None
    assert operator.daemon.asked == ["stop"]


def test_pybrokerctl_waits_for_its_end():
    assert commands.load("stop").ends_daemon


def test_the_banner_names_a_pid_file_only_if_there_is_one():
    assert stop.banner(stop.Args()) == "Stopping and halting node {node} ..."
    watching = "Stopping and halting node {node} (will monitor pid file {pidfile}) ..."
    assert stop.banner(stop.Args("/run/x.pid")) == watching
