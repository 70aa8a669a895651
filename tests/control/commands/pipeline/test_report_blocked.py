"""report_blocked names the report that pybrokerctl shows."""

from pybroker.control import commands


def test_it_names_its_report():
    command = commands.load("report_blocked")
    words = ["run", "ingest", "rollup", "blocked", "--warehouse", "/w"]
    assert command.run(None, command.parse({"warehouse": "/w"})) == {"report": "blocked", "words": words}
