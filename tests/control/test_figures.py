"""Columns that are metrics."""

from pybroker.control import figures
from pybroker.core.stats.metrics import QUEUE


def test_a_column_has_the_name_reader_and_help_of_its_metric():
    [bytes_, messages] = figures.columns(QUEUE, "message_bytes", "messages")
    assert (bytes_.name, bytes_.read, bytes_.help) == (
        "message_bytes",
        QUEUE["message_bytes"].read,
        QUEUE["message_bytes"].help,
    )
    assert "messages" == messages.name
