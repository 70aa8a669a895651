import pytest

from pybroker.errors import PreconditionFailed
from pybroker.wire.expiration import EXPIRATION_MS_MAX, parse_expiration


@pytest.mark.parametrize(
    ("octets", "expected"),
    [(b"0", 0), (b"60000", 60_000), (b"+5", 5), (b"-0", 0), (b"007", 7), (b"315360000000", EXPIRATION_MS_MAX)],
)
def test_expiration_is_milliseconds(octets, expected):
    assert expected == parse_expiration(octets)


# RabbitMQ 3.10.8's own answers to these.
@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"", "invalid expiration '': no_integer"),
        (b" 5", "invalid expiration ' 5': no_integer"),
        (b"+", "invalid expiration '+': no_integer"),
        (b"+-5", "invalid expiration '+-5': no_integer"),
        (b"-5", "invalid expiration '-5': {value_negative,-5}"),
        (b"10 minutes", "invalid expiration '10 minutes': {leftover_string,\" minutes\"}"),
        (b"5\n", "invalid expiration '5\n': {leftover_string,\"\\n\"}"),
        (b"1_000", "invalid expiration '1_000': {leftover_string,\"_000\"}"),
        (b"1.5", "invalid expiration '1.5': {leftover_string,\".5\"}"),
        (b"5\x01", "invalid expiration '5\x01': {leftover_string,[1]}"),
        (b"315360000001", "invalid expiration '315360000001': {value_too_large,315360000001}"),
        (b"\xff", "invalid expiration '�': no_integer"),
    ],
)
def test_bad_expiration_is_406_in_rabbitmqs_words(octets, text):
    with pytest.raises(PreconditionFailed) as caught:
        parse_expiration(octets)
    assert text == caught.value.text
    assert not caught.value.hard


def test_digits_of_other_scripts_are_no_digits():
    with pytest.raises(PreconditionFailed) as caught:
        parse_expiration("٣".encode())
    assert "invalid expiration '٣': no_integer" == caught.value.text


def test_255_digits_are_too_large_and_nothing_worse():
    with pytest.raises(PreconditionFailed) as caught:
        parse_expiration(b"9" * 255)
    assert f"{{value_too_large,{'9' * 255}}}" in caught.value.text
    assert len(caught.value.reply_text.encode()) == 255
