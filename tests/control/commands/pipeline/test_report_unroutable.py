"""report_unroutable names the report that pybrokerctl shows."""

from pybroker.control import commands


def test_it_names_its_report():
    command = commands.load("report_unroutable")
    words = ["run", "ingest", "rollup", "unroutable", "--warehouse", "/w"]
    assert command.run(None, command.parse({"warehouse": "/w"})) == {"report": "unroutable", "words": words}
