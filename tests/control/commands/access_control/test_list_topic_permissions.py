import pytest

from pybroker.control.spec import Refused


def test_restrictions_of_one_virtual_host_are_shown(operator):
    operator.ask("add_vhost", vhost_name="v")
    given = {"username": "guest", "exchange": "amq.topic", "write": "^w", "read": "^{username}"}
    operator.ask("set_topic_permissions", **given)
    operator.ask("set_topic_permissions", **{**given, "vhost": "v", "exchange": "x"})
    # As it was set, not as it is compiled.
    assert operator.list("list_topic_permissions") == [["guest", "amq.topic", "^w", "^{username}"]]
    assert operator.list("list_topic_permissions", vhost="v") == [["guest", "x", "^w", "^{username}"]]


def test_an_unknown_virtual_host_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.list("list_topic_permissions", vhost="x")
    assert (refused.value.text, refused.value.exit_code) == ("Virtual host 'x' does not exist", 65)
