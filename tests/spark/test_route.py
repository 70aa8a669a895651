import pytest

from pybroker.errors import ProtocolSyntaxError
from pybroker.spark.route import Route, read_route


def test_a_bit_and_two_names():
    assert read_route(b"\1\2ex\3key") == Route("ex", "key", True)
    assert read_route(b"\0\0\0") == Route("", "", False)
    assert read_route(b"\xfe\0\1k") == Route("", "k", False)  # the other bits are nobody's


def test_names_that_are_not_utf8_are_marked():
    assert read_route(b"\0\1\xff\2\xfek") == Route("�", "�k", False)


@pytest.mark.parametrize("octets", [b"\0\0\2k", b"\0\0\0k", b"\0\5ex\0", b"\0\xff\0"])
def test_lengths_that_do_not_end_with_the_octets_are_refused(octets):
    with pytest.raises(ProtocolSyntaxError, match="not well formed"):
        read_route(octets)
