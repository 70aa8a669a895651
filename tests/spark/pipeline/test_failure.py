import os

from pybroker.spark.pipeline.failure import RUNNING, UNAVAILABLE, FailureError


def test_a_failure_is_a_sentence_and_a_code():
    assert (FailureError("no").text, FailureError("no").code) == ("no", os.EX_DATAERR)
    assert (UNAVAILABLE, RUNNING) == (69, 75)
