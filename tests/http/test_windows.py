"""Samples that a request asks for."""

import pytest
from werkzeug.datastructures import MultiDict

from pybroker.http.errors import HttpError
from pybroker.http.windows import LENGTHS, MESSAGES, window_of


def window(**query):
    return window_of(MultiDict(query), MESSAGES)


def test_a_window_has_an_age_and_steps():
    assert window(msg_rates_age="60", msg_rates_incr="5") == (60_000, 5_000)
    assert window(msg_rates_age="60") is None
    assert window_of(MultiDict({"msg_rates_age": "60", "msg_rates_incr": "5"}), LENGTHS) is None


@pytest.mark.parametrize(("age", "step"), [("x", "5"), ("60", "0"), ("-1", "5"), ("5", "60"), ("5000", "5")])
def test_bad_windows(age, step):
    with pytest.raises(HttpError, match="of at most 500 samples"):
        window(msg_rates_age=age, msg_rates_incr=step)
