import pytest

from pybroker.control.spec import Refused

LIMIT = {"pattern": "^q", "definition": '{"max-length":2,"message-ttl":1000}'}


def test_what_it_fitted_is_under_the_next_one_at_once(operator, peer):
    peer.declare("q")
    operator.ask("set_policy", name="first", priority=1, **LIMIT)
    operator.ask("set_policy", name="second", pattern="", definition='{"max-length":3}')
    limits = operator.world.broker.vhosts["/"].queues["q"]
    assert (2, 1_000) == (limits.limits.length_max, limits.limits.message_ttl_ms)
    assert None is operator.ask("clear_policy", name="first")
    assert (3, None) == (limits.limits.length_max, limits.limits.message_ttl_ms)
    operator.ask("clear_policy", name="second")
    assert (None, "") == (limits.limits.length_max, limits.applied.policy)
    assert [] == operator.list("list_policies")


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"name": "p"}, (69, "Parameter does not exist")),
        ({"name": "p", "vhost": "v"}, (65, "Virtual host 'v' does not exist")),
    ],
)
def test_what_there_is_not_is_refused(operator, given, refusal):
    with pytest.raises(Refused) as refused:
        operator.ask("clear_policy", **given)
    assert refusal == (refused.value.exit_code, refused.value.text)
