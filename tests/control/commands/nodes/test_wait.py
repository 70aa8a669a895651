import pytest

from pybroker.control.spec import BadArguments, Refused


def test_a_node_that_serves_is_up(operator):
    assert operator.ask("wait", pid=1) is None
    assert operator.ask("wait", pidfile="/x") is None


def test_one_that_does_not_asks_for_patience(operator):
    operator.daemon.app_running = False
    with pytest.raises(Refused) as refused:
        operator.ask("wait", pid=1)
    assert refused.value.exit_code == 75


@pytest.mark.parametrize(
    ("given", "text"),
    [({}, "No pid or pidfile specified"), ({"pid": 1, "pidfile": "/x"}, "Cannot specify both pid and pidfile")],
)
def test_one_of_both_is_wanted(operator, given, text):
    with pytest.raises(BadArguments) as refused:
        operator.ask("wait", **given)
    assert (refused.value.text, refused.value.exit_code) == (text, 64)
