import pytest
from pamqp import commands

from pybroker.control.spec import Refused


def test_the_client_is_told_the_reason(operator, peer):
    other = operator.world.connect()
    assert operator.ask("close_connection", pid=peer.session.pid, reason="bye bye") is None
    close = peer.next(0)
    assert isinstance(close, commands.Connection.Close)
    assert (close.reply_code, close.reply_text) == (320, "CONNECTION_FORCED - bye bye")
    assert other.take(0) == []


def test_an_id_of_an_earlier_start_closes_nobody(operator, peer):
    pid = peer.session.pid.replace(str(operator.world.broker.epoch), "1")
    with pytest.raises(Refused) as refused:
        operator.ask("close_connection", pid=pid, reason="bye")
    assert refused.value.exit_code == 65
    assert refused.value.text.startswith(f"no connection has the id {pid}")
    assert peer.take(0) == []
