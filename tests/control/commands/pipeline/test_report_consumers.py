"""report_consumers names the report that pybrokerctl shows."""

from pybroker.control import commands


def test_it_names_its_report():
    command = commands.load("report_consumers")
    words = ["run", "ingest", "rollup", "consumers", "--warehouse", "/w"]
    assert command.run(None, command.parse({"warehouse": "/w"})) == {"report": "consumers", "words": words}
