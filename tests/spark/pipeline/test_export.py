"""A queue becomes Parquet, and the same command goes on where it was."""

import pytest

from pybroker.spark.pipeline import export
from pybroker.spark.pipeline.failure import FailureError

pytestmark = pytest.mark.spark


def test_what_is_in_a_queue_is_in_the_folder_and_once(spark, broker, channel, queue, tmp_path):
    options = {"host": broker.host, "port": str(broker.port), "queue": queue, "includeProperties": "true"}
    for round_ in range(2):
        for n in range(5):
            channel.basic_publish("", queue, f"{round_}-{n}".encode())
        channel.wait_for_confirms()
        assert export.drain(spark, tmp_path, options, available_now=True) == 5
    rows = spark.read.parquet(str(tmp_path)).collect()
    assert sorted(bytes(row.value) for row in rows) == [f"{r}-{n}".encode() for r in range(2) for n in range(5)]


def test_an_option_that_makes_no_sense_is_a_sentence(spark, tmp_path):
    with pytest.raises(FailureError, match="port") as caught:
        export.drain(spark, tmp_path, {"port": "many", "queue": "q"}, available_now=True)
    assert "\n" not in caught.value.text
