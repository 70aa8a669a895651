import pytest

from pybroker.control.spec import Refused

MANY = """Validation failed

Unrecognised terms [{<<"a">>,1}] in bar
Key "definition" not found in bar
Key "pattern" not found in bar
Key "priority" not found in bar"""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("policy", "p", "{}"), "policies may not be set using this method"),
        (("foo", "bar", '"x"'), "Validation failed\n\ncomponent foo not found"),
        (
            ("operator_policy", "bar", '{"a":1}'),
            MANY,
        ),
        (("operator_policy", "bar", "5"), "Validation failed\n\nbar not a list 5"),
    ],
)
def test_what_is_no_parameter_is_refused_with_rabbitmqs_text(operator, given, text):
    with pytest.raises(Refused) as refused:
        operator.ask("set_parameter", **dict(zip(("component_name", "name", "value"), given, strict=True)))
    assert (69, text) == (refused.value.exit_code, refused.value.text)


def test_an_operator_policy_is_one(operator):
    value = '{"pattern":"z","definition":{"max-length":7},"priority":0,"apply-to":"queues"}'
    operator.ask("set_parameter", component_name="operator_policy", name="o", value=value)
    assert [["operator_policy", "o", value]] == operator.list("list_parameters")
    assert "o" == operator.list("list_operator_policies")[0][1]
