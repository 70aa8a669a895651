import pytest

from pybroker.control.spec import Refused


def test_restrictions_of_one_user_are_shown_in_all_virtual_hosts(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("add_user", username="u", password="p")
    given = {"username": "guest", "exchange": "amq.topic", "write": "^w", "read": "^{username}"}
    operator.ask("set_topic_permissions", **given)
    operator.ask("set_topic_permissions", **{**given, "vhost": "v", "exchange": "x"})
    operator.ask("set_topic_permissions", **{**given, "username": "u"})
    rows = [["/", "amq.topic", "^w", "^{username}"], ["v", "x", "^w", "^{username}"]]
    assert operator.list("list_user_topic_permissions", username="guest") == rows


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.list("list_user_topic_permissions", username="x")
    assert (refused.value.text, refused.value.exit_code) == ('User "x" does not exist', 67)
