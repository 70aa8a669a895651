import pytest

from pybroker.control.spec import Refused


def test_an_open_connection_may_do_nothing_any_more(operator, peer):
    peer.declare("q")
    assert operator.ask("clear_permissions", username="guest") is None
    peer.publish("", "q")
    assert peer.next().reply_code == 403


@pytest.mark.parametrize(("given", "code"), [({"username": "x"}, 67), ({"username": "guest", "vhost": "x"}, 65)])
def test_unknown_names_are_refused(operator, given, code):
    with pytest.raises(Refused) as refused:
        operator.ask("clear_permissions", **given)
    assert refused.value.exit_code == code
