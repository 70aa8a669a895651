import inspect

import pytest

from pybroker import errors
from pybroker.errors import REPLY_TEXT_OCTETS_MAX, AmqpError, HardError, NotFound, SoftError

CLASSES = [
    error
    for _, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, AmqpError) and error not in (AmqpError, SoftError, HardError)
]

# AMQP 0-9-1, the table of constants in its §1.2: which are soft, which are hard.
SOFT = {311, 312, 313, 403, 404, 405, 406}
HARD = {320, 402, 501, 502, 503, 504, 505, 506, 530, 540, 541}


def test_every_reply_code_has_one_class():
    assert sorted(error.reply_code for error in CLASSES) == sorted(SOFT | HARD)


@pytest.mark.parametrize("error", CLASSES)
def test_soft_and_hard_are_as_the_specification_has_them(error):
    assert error("text").hard == (error.reply_code in HARD)


def test_the_reply_text_has_the_name_in_front():
    assert NotFound("no queue 'q' in vhost '/'").reply_text == "NOT_FOUND - no queue 'q' in vhost '/'"


def test_a_soft_error_may_be_a_connections():
    assert NotFound("x").hard is False
    assert NotFound("x", hard=True).hard is True


@pytest.mark.parametrize("text", ["x" * 300, "é" * 300, "x" + "€" * 300])
def test_long_texts_are_cut_to_a_shortstr_of_valid_utf8(text):
    reply_text = NotFound(text).reply_text
    assert len(reply_text.encode()) <= REPLY_TEXT_OCTETS_MAX
    assert reply_text.endswith("...")
    assert f"NOT_FOUND - {text}".startswith(reply_text[:-3])


def test_a_text_that_just_fits_is_not_cut():
    text = "x" * (REPLY_TEXT_OCTETS_MAX - len("NOT_FOUND - "))
    assert NotFound(text).reply_text == f"NOT_FOUND - {text}"


def test_an_error_knows_the_method_that_caused_it():
    assert NotFound("x", (50, 10)).method == (50, 10)
    assert NotFound("x").method == (0, 0)
