import pytest

from pybroker.control.spec import Refused


def test_what_it_fitted_is_not_under_it_any_more(operator, peer):
    peer.declare("q")
    operator.ask("set_operator_policy", name="o", pattern="", definition='{"max-length":9}')
    operator.ask("clear_operator_policy", name="o")
    assert [["", []]] == operator.list("list_queues", "operator_policy", "effective_policy_definition")
    assert [] == operator.list("list_operator_policies")


def test_a_policy_of_users_is_none_of_them(operator):
    operator.ask("set_policy", name="p", pattern="", definition='{"max-length":9}')
    with pytest.raises(Refused, match="Parameter does not exist"):
        operator.ask("clear_operator_policy", name="p")
