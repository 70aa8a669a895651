"""The expected texts are Erlang/OTP 25's own: io_lib:format("~p", ...)."""

import pytest

from pybroker.wire.erlang import printed_binary, printed_string, written_binary


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        (b"", "<<>>"),
        (b"abc", '<<"abc">>'),
        (b"\x00\x3c\xff", "<<0,60,255>>"),
        (b'a"\\\n', '<<"a\\"\\\\\\n">>'),
        (b"\x7f", "<<127>>"),
        (b"caf\xe9", '<<"caf\xe9">>'),
        (b"\x08\t\x0b\x0c\r\x1b", '<<"\\b\\t\\v\\f\\r\\e">>'),
    ],
)
def test_binaries_are_quoted_when_printable(octets, expected):
    assert expected == printed_binary(octets)


@pytest.mark.parametrize(("octets", "expected"), [(b"", "[]"), (b" minutes", '" minutes"'), (b"\x01\x02", "[1,2]")])
def test_strings_are_quoted_when_printable(octets, expected):
    assert expected == printed_string(octets)


def test_written_binaries_are_always_numbers():
    assert "<<97,98>>" == written_binary(b"ab")
    assert "<<>>" == written_binary(b"")
