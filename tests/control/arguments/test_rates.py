import pytest

from pybroker.control.arguments.rates import parse_rate
from pybroker.control.spec import BadArguments


@pytest.mark.parametrize(("text", "rate"), [("1", 1.0), ("500/s", 500.0), ("0.5/s", 0.5), ("1000000000", 1e9)])
def test_a_rate(text, rate):
    assert rate == parse_rate(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "fast", "5/m", "1e3", "1000000001", "٣", ".5"])
def test_no_rate(text):
    with pytest.raises(BadArguments, match="expected messages per second above 0, such as 500/s"):
        parse_rate(text)
