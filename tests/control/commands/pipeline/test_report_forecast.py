"""report_forecast names the report that pybrokerctl shows."""

from pybroker.control import commands


def test_it_names_its_report():
    command = commands.load("report_forecast")
    words = ["run", "ingest", "rollup", "forecast", "--warehouse", "/w"]
    assert command.run(None, command.parse({"warehouse": "/w"})) == {"report": "forecast", "words": words}
