from pybroker.control import commands
from pybrokerctl import views
from pybrokerctl.views import status


def test_a_view_belongs_to_a_command():
    found = {name for name in commands.NAMES if views.find(name)}
    assert found == views.NAMES
    assert views.find("status") is status.view
