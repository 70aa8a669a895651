"""Names of AMQP's faults, and answers that have more than a code."""

import pytest

from pybroker.errors import AccessRefused, InternalError, NotFound, PreconditionFailed, ResourceLocked
from pybroker.stream.refused import code_of, refusal
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code


@pytest.mark.parametrize(
    ("made", "code"),
    [(AccessRefused, 16), (ResourceLocked, 16), (NotFound, 2), (InternalError, 15), (PreconditionFailed, 17)],
)
def test_each_fault_has_a_code(made, code):
    assert code == code_of(made("why"))


def test_answers_keep_their_form():
    plain, longer = commands.DeleteStream(1, "s"), commands.QueryOffset(2, "me", "s")
    assert b"\0\0\0\x0a\x80\x0e\0\x01\0\0\0\x01\0\x10" == refusal(plain, Code.ACCESS_REFUSED)
    assert b"\0\0\0\x12\x80\x0b\0\x01\0\0\0\x02\0\x13" + bytes(8) == refusal(longer, Code.NO_OFFSET)
