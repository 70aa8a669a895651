import pytest

from pybroker.control.spec import Refused


def refusal(operator, **given):
    with pytest.raises(Refused) as refused:
        operator.ask("set_user_limits", **given)
    return refused.value.exit_code, refused.value.text


def test_limits_that_are_given_are_set_and_the_others_stay(operator):
    user = operator.world.broker.users.named("guest")
    assert operator.ask("set_user_limits", username="guest", definition='{"max-connections": 2}') is None
    assert operator.ask("set_user_limits", username="guest", definition='{"max-channels": 5}') is None
    assert user.limits == {"max-connections": 2, "max-channels": 5}
    operator.ask("set_user_limits", username="guest", definition='[["max-channels", -1]]')
    assert user.limits == {"max-connections": 2, "max-channels": -1}


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ('{"max-connections": "x"}', 'max-connections should be a number, actually was <<"x">>'),
        ('{"max-channels": null}', "max-channels should be a number, actually was null"),
        ('{"max-channels": true}', "max-channels should be a number, actually was true"),
        ('{"max-queues": 1}', 'Unrecognised terms [{<<"max-queues">>,1}] in user-limits'),
        ("5", "user-limits not a list 5"),
    ],
)
def test_what_is_no_limit_is_refused(operator, definition, text):
    assert refusal(operator, username="guest", definition=definition) == (69, text)
    assert operator.world.broker.users.named("guest").limits == {}


def test_what_is_no_json_is_refused(operator):
    code, text = refusal(operator, username="guest", definition="{")
    assert code == 69
    assert text.startswith("JSON decoding error. Reason: ")


def test_an_unknown_user_is_refused(operator):
    assert refusal(operator, username="x", definition="{}") == (67, 'User "x" does not exist')
