import pytest

from pybroker.control.spec import Refused

ALL = {"configure": ".*", "write": ".*", "read": ".*"}


def refusal(operator, **given):
    with pytest.raises(Refused) as refused:
        operator.ask("set_permissions", **given)
    return refused.value.exit_code, refused.value.text


def test_the_user_can_enter_the_virtual_host(operator):
    operator.ask("add_user", username="u", password="p")
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("set_permissions", username="u", vhost="v", **ALL)
    peer = operator.world.connect(user="u", password="p", vhost="v")
    assert peer.declare("q").queue == "q"


def test_a_pattern_grants_only_what_it_matches_from_now_on(operator, peer):
    peer.declare("q")
    operator.ask("set_permissions", username="guest", configure="^a", write="", read=".*")
    peer.publish("", "q")
    close = peer.next()
    expected = "ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'guest'"
    assert (close.reply_code, close.reply_text) == (403, expected)


def test_unknown_names_are_refused(operator):
    assert refusal(operator, username="nobody", **ALL) == (67, 'User "nobody" does not exist')
    assert refusal(operator, username="guest", vhost="v", **ALL) == (65, "Virtual host 'v' does not exist")


def test_a_pattern_that_does_not_compile_is_refused_and_changes_nothing(operator):
    code, text = refusal(operator, username="guest", configure="(", write=".*", read=".*")
    assert (code, text.startswith("a permission pattern is not a regular expression: ")) == (65, True)
    assert operator.world.broker.users.get("guest").permissions["/"].text("configure") == ".*"
