"""report_accounting names the report that pybrokerctl shows."""

from pybroker.control import commands


def test_it_names_its_report():
    command = commands.load("report_accounting")
    words = ["run", "ingest", "rollup", "accounting", "--warehouse", "/w"]
    assert command.run(None, command.parse({"warehouse": "/w"})) == {"report": "accounting", "words": words}
