import pytest

from pybroker.control.spec import Refused


def test_only_matching_keys_may_be_published(operator, peer):
    given = {"username": "guest", "exchange": "amq.topic", "write": "^a", "read": ".*"}
    assert operator.ask("set_topic_permissions", **given) is None
    peer.publish("amq.topic", "abc")
    assert peer.take() == []
    peer.publish("amq.topic", "xyz")
    expected = (
        "ACCESS_REFUSED - write access to topic 'xyz' in exchange 'amq.topic' in vhost '/' refused for user 'guest'"
    )
    assert peer.next().reply_text == expected


@pytest.mark.parametrize(("changes", "code"), [({"username": "x"}, 67), ({"vhost": "x"}, 65), ({"write": "("}, 65)])
def test_what_does_not_exist_or_compile_is_refused(operator, changes, code):
    given = {"username": "guest", "exchange": "amq.topic", "write": ".*", "read": ".*", **changes}
    with pytest.raises(Refused) as refused:
        operator.ask("set_topic_permissions", **given)
    assert refused.value.exit_code == code
