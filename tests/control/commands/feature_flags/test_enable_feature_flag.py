import pytest

from pybroker.control.spec import Refused


@pytest.mark.parametrize("name", ["all", "user_limits"])
def test_what_is_built_in_is_enabled_already(operator, name):
    assert operator.ask("enable_feature_flag", feature_flag=name) is None


def test_another_one_is_refused_as_rabbitmq_does(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("enable_feature_flag", feature_flag="user_limit")
    expected = "This feature flag is not supported by node pybroker@vm. Did you mean 'user_limits'?"
    assert (64, expected) == (refused.value.exit_code, refused.value.text)
