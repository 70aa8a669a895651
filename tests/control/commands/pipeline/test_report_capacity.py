"""report_capacity names the report that pybrokerctl shows."""

from pybroker.control import commands


def test_it_names_its_report():
    command = commands.load("report_capacity")
    words = ["run", "ingest", "rollup", "capacity", "--warehouse", "/w"]
    assert command.run(None, command.parse({"warehouse": "/w"})) == {"report": "capacity", "words": words}
