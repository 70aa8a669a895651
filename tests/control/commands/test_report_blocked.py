"""report_blocked names the report that pybrokerctl shows."""

from pybroker.control import commands


def test_it_names_its_report():
    command = commands.load("report_blocked")
    assert command.run(None, command.parse({"fail_on": "any"})) == {"report": "blocked"}
