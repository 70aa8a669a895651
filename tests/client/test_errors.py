"""Errors bear the names of reply codes, and can be raised in several threads."""

import pickle

import pytest

from pybroker.client import errors
from pybroker.client.errors import error_of, fresh


@pytest.mark.parametrize(
    ("code", "name"), [(403, "AccessRefused"), (404, "NotFound"), (406, "PreconditionFailed"), (504, "ChannelError")]
)
def test_a_reply_code_has_a_class_of_its_name(code, name):
    error = error_of(code, f"{getattr(errors, name).reply_name} - no such thing", (50, 10), hard=False)
    assert type(error) is getattr(errors, name)
    assert (error.reply_code, error.text, error.method, error.hard) == (code, "no such thing", (50, 10), False)


def test_a_soft_code_may_close_a_connection():
    assert error_of(403, "ACCESS_REFUSED - no", (10, 40), hard=True).hard


def test_an_unknown_code_is_told():
    assert str(error_of(999, "what", (0, 0), hard=True)) == "999 what"


@pytest.mark.parametrize(
    "error",
    [
        errors.NotFound("no queue", (50, 10)),
        errors.ConnectionLost("gone", errors.ConnectionForced("bye")),
        errors.MessageReturned("back", b"message"),
        errors.PublishUnconfirmed("lost"),
    ],
)
def test_a_fresh_copy_is_equal_and_without_a_traceback(error):
    with pytest.raises(type(error)) as raised:
        raise error
    copy = fresh(raised.value)
    assert (type(copy), str(copy), copy.__dict__) == (type(error), str(error), error.__dict__)
    assert copy.__traceback__ is None
    assert str(pickle.loads(pickle.dumps(copy))) == str(error)


def test_timeouts_are_pythons_timeouts_too():
    assert issubclass(errors.CallTimeout, TimeoutError)
    assert issubclass(errors.ConnectionBlocked, TimeoutError)


def test_all_names_are_exported():
    assert [name for name in errors.__all__ if not hasattr(errors, name)] == []
