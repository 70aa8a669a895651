"""report_alarms names the report that pybrokerctl shows."""

from pybroker.control import commands


def test_it_names_its_report():
    command = commands.load("report_alarms")
    words = ["run", "ingest", "rollup", "alarms", "--warehouse", "/w"]
    assert command.run(None, command.parse({"warehouse": "/w"})) == {"report": "alarms", "words": words}
