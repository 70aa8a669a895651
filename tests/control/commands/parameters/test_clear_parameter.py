import pytest

from pybroker.control.spec import Refused


def test_it_is_forgotten(operator):
    operator.ask("set_operator_policy", name="o", pattern="", definition='{"max-length":9}')
    operator.ask("clear_parameter", component_name="operator_policy", name="o")
    assert ([], []) == (operator.list("list_parameters"), operator.list("list_operator_policies"))


@pytest.mark.parametrize(
    ("component", "text"),
    [("policy", "policies may not be cleared using this method"), ("x", "Parameter does not exist")],
)
def test_what_there_is_not_is_refused(operator, component, text):
    with pytest.raises(Refused) as refused:
        operator.ask("clear_parameter", component_name=component, name="y")
    assert (69, text) == (refused.value.exit_code, refused.value.text)
