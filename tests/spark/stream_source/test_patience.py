"""A broker that has gone is waited for, and not for ever."""

from types import SimpleNamespace

import pytest

from pybroker.client.errors import AuthenticationFailed, CallTimeout, ClientError, ConnectionClosed, ConnectionLost
from pybroker.spark.stream.errors import StreamError
from pybroker.spark.stream_source import patience
from pybroker.spark.stream_source.offset import DataLossError
from pybroker.spark.stream_source.patience import Patience, may_pass
from pybroker.wire.stream.codes import Code


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionLost("x"), True),
        (ConnectionClosed("x"), True),
        (ConnectionRefusedError(), True),
        (StreamError("x", Code.STREAM_NOT_AVAILABLE), True),
        (StreamError("x", Code.STREAM_DOES_NOT_EXIST), False),
        (AuthenticationFailed("x"), False),
        (DataLossError("x"), False),
        (CallTimeout("x"), False),
        (ClientError("x"), False),
    ],
)
def test_what_passes(error, passes):
    assert may_pass(error) is passes


def test_failures_are_borne_until_they_lasted_too_long(monkeypatch):
    clock = SimpleNamespace(now=100.0)

    def sleep(s):
        clock.now += s

    monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    one = Patience(2.5)
    for _ in range(2):
        for _ in range(3):
            one.bear(ConnectionLost("gone"))
        with pytest.raises(ConnectionLost, match="gone"):
            one.bear(ConnectionLost("gone"))
        one.restore()
    assert clock.now == 106.0
    with pytest.raises(ConnectionLost):
        Patience(0.0).bear(ConnectionLost("gone"))
