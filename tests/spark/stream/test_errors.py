import pickle

from pybroker.spark.stream.errors import StreamError, name_code


def test_a_code_is_named():
    assert (
        name_code(2)
        == "there is no stream with this name, or the port is another broker's (stream does not exist, code 2)"
    )
    assert name_code(18) == "publisher does not exist (code 18)"
    assert name_code(99) == "code 99"


def test_an_error_travels_from_a_worker_to_the_driver():
    error = pickle.loads(pickle.dumps(StreamError("read 's'", 2)))
    assert (str(error), error.code) == (
        "read 's': there is no stream with this name, or the port is another broker's (stream does not exist, code 2)",
        2,
    )
