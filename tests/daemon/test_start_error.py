import errno

import pytest

from pybroker.daemon.start_error import refused_by_system


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EACCES, 77),
        (errno.EPERM, 77),
        (errno.EADDRINUSE, 69),
        (errno.EADDRNOTAVAIL, 69),
        (errno.ENOENT, 73),
        (errno.EROFS, 73),
        (errno.ENOSPC, 73),
    ],
)
def test_the_systems_reason_decides_the_exit_code(number, code):
    assert refused_by_system("cannot x", OSError(number, "")).code == code


def test_the_sentence_says_what_and_why():
    error = refused_by_system("cannot listen on *:1", OSError(errno.EADDRINUSE, ""))
    assert error.text == "cannot listen on *:1: Address already in use"


def test_a_reason_of_our_own_is_kept():
    error = refused_by_system("cannot x", OSError("another daemon"))
    assert (error.text, error.code) == ("cannot x: another daemon", 69)
