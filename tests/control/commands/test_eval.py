import pytest

from pybroker.control.spec import BadArguments, Refused


def say(operator, expression):
    return operator.ask("eval", expression=expression)["message"]


def test_the_java_clients_channel_limit(operator):
    assert say(operator, "application:set_env(rabbit, channel_max, 2048).") == "ok"
    assert operator.world.broker.settings.channel_max == 2_048
    assert say(operator, "application:get_env(rabbit, channel_max).") == "{ok,2048}"
    assert operator.world.broker.settings.set_at_run_time == {"channel_max": "2048"}


def test_the_java_clients_loopback_users(operator):
    value = "{ok, V} = application:get_env(rabbit, loopback_users), V."
    assert say(operator, value) == '[<<"guest">>]'
    assert say(operator, "application:set_env(rabbit, loopback_users, []).") == "ok"
    assert operator.world.broker.settings.loopback_users == frozenset()
    assert say(operator, value) == "[]"
    say(operator, 'application:set_env(rabbit, loopback_users, [<<"guest">>, <<"b">>]).')
    assert say(operator, value) == '[<<"b">>,<<"guest">>]'


def test_amqproxys_heartbeat(operator):
    assert say(operator, " application:set_env(rabbit, heartbeat, 1). ") == "ok"
    peer = operator.world.peer()
    peer.shake_hands()
    assert operator.world.broker.settings.heartbeat_s == 1


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("node().", 65),
        ("application:set_env(rabbit, frame_max, 1).", 65),
        ("application:set_env(rabbit, channel_max, -1).", 65),
        ("application:set_env(rabbit, channel_max, 65536).", 65),
        ("application:set_env(rabbit, loopback_users, [guest]).", 65),
        ("application:get_env(rabbit, nosuch).", 65),
        ("{ok, V} = application:get_env(rabbit, channel_max), W.", 65),
        ('application:set_env(rabbit, channel_max, 1), os:cmd("ls").', 65),
        ("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).", 69),
        ("rabbit_alarm:clear_alarm({resource_limit, disk, node()}).", 69),
    ],
)
def test_anything_else_is_refused_with_a_sentence(operator, expression, code):
    with pytest.raises(Refused) as refused:
        operator.ask("eval", expression=expression)
    assert refused.value.exit_code == code
    assert operator.world.broker.settings.channel_max == 2_047


def test_nothing_is_no_expression(operator):
    with pytest.raises(BadArguments) as refused:
        operator.ask("eval", expression="  ")
    assert (refused.value.text, refused.value.exit_code) == ("Expression must not be blank", 64)
