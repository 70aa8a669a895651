"""The fakes of these tests, and the daemon, have all that commands may ask for."""

from pybroker.control import roles
from pybroker.control.roles import Controller, OfflineTool
from pybroker.daemon import offline_tool
from pybroker.daemon.configuration import Configuration
from pybroker.daemon.controller import DaemonController
from tests.control.conftest import FakeConfiguration, FakeDaemon
from tests.fakes import World


def names(role: type) -> set[str]:
    return {name for name in vars(role) if not name.startswith("_")}


def test_the_daemon_and_its_fake_have_all_of_it():
    # Some are attributes of the instance.
    assert names(Controller) - {"web_sessions"} <= names(DaemonController)
    assert names(Controller) - {"app_running", "configuration", "recovering"} <= {*dir(FakeDaemon(World()))}
    assert names(roles.Configuration) <= names(Configuration)
    assert names(roles.Configuration) <= names(FakeConfiguration)


def test_the_tool_has_all_of_it():
    assert names(OfflineTool) <= names(offline_tool.OfflineTool)
