"""report_backlog names the report that pybrokerctl shows."""

from pybroker.control import commands


def test_it_names_its_report():
    command = commands.load("report_backlog")
    words = ["run", "ingest", "rollup", "backlog", "--warehouse", "/w"]
    assert command.run(None, command.parse({"warehouse": "/w"})) == {"report": "backlog", "words": words}
