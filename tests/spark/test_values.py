import pickle

import pytest

from pybroker.spark.values import OptionError, boolean, milliseconds, number, text


def test_values_are_read():
    assert (text("x"), text("MAP", "map"), boolean("True"), number("7"), milliseconds("250")) == (
        "x",
        "map",
        True,
        7,
        0.25,
    )


@pytest.mark.parametrize("wrong", ["", "0", "x", "1.5", "9999999999"])
def test_what_is_no_number_is_refused(wrong):
    with pytest.raises(ValueError, match="must be an integer from 1 to"):
        number(wrong)


def test_an_error_travels_from_spark_s_workers():
    error = pickle.loads(pickle.dumps(OptionError("queue", "is needed")))
    assert (str(error), error.name) == ("option queue is needed", "queue")
