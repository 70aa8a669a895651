import pytest
from pamqp import commands

from pybroker.control.spec import Refused


def test_the_user_is_gone_and_so_are_the_connections(operator):
    operator.ask("add_user", username="u", password="p")
    operator.ask("set_permissions", username="u", configure=".*", write=".*", read=".*")
    mine, other = operator.world.connect(user="u", password="p"), operator.world.connect()
    assert operator.ask("delete_user", username="u") is None
    close = mine.next(0)
    assert isinstance(close, commands.Connection.Close)
    assert (close.reply_code, close.reply_text) == (320, "CONNECTION_FORCED - user 'u' is deleted")
    assert other.take(0) == []
    assert operator.list("list_users") == [["guest", ["administrator"]]]


def test_an_unknown_user_is_refused_with_the_nearest_name(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("delete_user", username="gest")
    assert (refused.value.exit_code, refused.value.text) == (67, "User \"gest\" does not exist. Did you mean 'guest'?")
