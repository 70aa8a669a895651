from pybroker.control import commands
from pybrokerctl import views
from pybrokerctl.views import status


def test_a_view_belongs_to_a_command():
    found = {name: views.find(name) for name in commands.NAMES}
    assert {name: view for name, view in found.items() if view} == {"status": status.view}
