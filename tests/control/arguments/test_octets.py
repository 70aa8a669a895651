import pytest

from pybroker.control.arguments.octets import OCTETS_MAX, parse_fraction, parse_octets
from pybroker.control.spec import BadArguments


@pytest.mark.parametrize(
    ("text", "octets"),
    [
        ("0", 0),
        ("1", 1),
        ("1k", 1024),
        ("1kiB", 1024),
        ("2M", 2 << 20),
        ("2MiB", 2 << 20),
        ("3G", 3 << 30),
        ("3GiB", 3 << 30),
        ("1kB", 1000),
        ("1MB", 10**6),
        ("1GB", 10**9),
    ],
)
def test_units_are_rabbitmqs(text, octets):
    assert parse_octets(text) == octets


@pytest.mark.parametrize("text", ["1XB", "1KB", "1gb", "1 GB", "1TB", "1é"])
def test_another_unit_is_refused(text):
    with pytest.raises(BadArguments) as refused:
        parse_octets(text)
    assert (refused.value.text, refused.value.exit_code) == ("Bad argument: Invalid units.", 65)


@pytest.mark.parametrize("text", ["1.5GB", "0.5", "-1.5"])
def test_so_is_what_is_no_whole_number(text):
    with pytest.raises(BadArguments) as refused:
        parse_octets(text)
    assert refused.value.text == "Bad argument: The threshold should be an integer."


@pytest.mark.parametrize("text", ["", "GB", "abc", "٣"])
def test_and_what_is_no_number(text):
    with pytest.raises(BadArguments) as refused:
        parse_octets(text)
    expected = f"Bad argument.\nExpected a size such as 2GiB or 2000000000, not '{text}'"
    assert refused.value.text == expected


@pytest.mark.parametrize("text", ["-1", "-1GB", "5000000000GB", "9" * 5_000])
def test_and_what_no_machine_has(text):
    with pytest.raises(BadArguments) as refused:
        parse_octets(text)
    assert refused.value.text == f"Bad argument: The threshold should lie between 0 and {OCTETS_MAX} bytes"


@pytest.mark.parametrize(
    ("text", "fraction"), [("0", 0.0), ("0.4", 0.4), ("1", 1.0), ("100", 100.0), ("0.000000001", 1e-9), ("1e-3", 0.001)]
)
def test_a_fraction_may_be_above_one(text, fraction):
    assert parse_fraction(text) == fraction


@pytest.mark.parametrize("text", ["", "abc", "nan", "inf", "0,5", ".5", "1_0", "50%", " 1"])
def test_what_is_no_fraction_is_refused(text):
    with pytest.raises(BadArguments) as refused:
        parse_fraction(text)
    expected = f"Bad argument.\nExpected a fraction such as 0.6, not '{text}'"
    assert (refused.value.text, refused.value.exit_code) == (expected, 65)


@pytest.mark.parametrize("text", ["-0.1", "1e300", "1" * 5_000])
def test_so_is_one_that_cannot_be(text):
    with pytest.raises(BadArguments) as refused:
        parse_fraction(text)
    assert refused.value.text == "Bad argument: The threshold should be a fraction of 0.0 or more"
