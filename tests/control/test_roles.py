"""The fakes of these tests, and the daemon, have all that commands may ask for."""

from pybroker.control.roles import Controller, OfflineTool
from pybroker.daemon import offline_tool
from pybroker.daemon.daemon import Daemon
from tests.control.conftest import FakeDaemon


def names(role: type) -> set[str]:
    return {name for name in vars(role) if not name.startswith("_")}


def test_the_daemon_and_its_fake_have_all_of_it():
    # Some are attributes of the instances.
    assert names(Controller) - {"app_running"} <= names(Daemon)
    assert names(Controller) - {"app_running", "recovering"} <= names(FakeDaemon)


def test_the_tool_has_all_of_it():
    assert names(OfflineTool) <= names(offline_tool.OfflineTool)
