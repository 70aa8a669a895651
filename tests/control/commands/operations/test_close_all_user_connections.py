import pytest
from pamqp import commands

from pybroker.control.spec import Refused


def test_only_that_users_connections_are_closed(operator, peer):
    operator.ask("add_user", username="u", password="p")
    operator.ask("set_permissions", username="u", configure="", write="", read="")
    other = operator.world.connect(user="u", password="p")
    operator.world.peer()  # connected, and nobody's yet
    assert operator.ask("close_all_user_connections", username="u", reason="bye") == "Closed 1 connections"
    close = other.next(0)
    assert isinstance(close, commands.Connection.Close)
    assert (close.reply_code, close.reply_text) == (320, "CONNECTION_FORCED - bye")
    assert peer.take(0) == []
    assert operator.ask("close_all_user_connections", username="u", reason="bye") == "Closed 0 connections"


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("close_all_user_connections", username="x", reason="bye")
    assert refused.value.exit_code == 67
