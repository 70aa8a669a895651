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
        ("rabbit_alarm:set_alarm({{resource_limit, patience, node()}, []}).", 65),
        ("rabbit_alarm:set_alarm({{resource_limit, memory, 'pybroker@other'}, []}).", 65),
        ("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, [x]}).", 65),
        ("rabbit_alarm:on_node_up(node()).", 65),
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


@pytest.mark.parametrize("resource", ["memory", "disk"])
def test_an_alarm_stays_until_it_is_cleared_whatever_is_measured(operator, peer, resource):
    broker = operator.world.broker
    assert say(operator, f"rabbit_alarm:set_alarm({{{{resource_limit, {resource}, node()}}, []}}).") == "ok"
    operator.daemon.check_alarms()
    assert [f"low on {resource}"] == [broker.alarms.reason]
    assert "set by an operator" in operator.ask("alarms")["message"]
    assert say(operator, "rabbit_alarm:get_alarms().") == f"[{{{{resource_limit,{resource},'pybroker@vm'}},[]}}]"
    assert say(operator, f"rabbit_alarm:clear_alarm({{resource_limit, {resource}, node()}}).") == "ok"
    assert (False, "[]") == (bool(broker.alarms), say(operator, "rabbit_alarm:get_local_alarms()."))


def test_clearing_an_alarm_makes_no_memory(operator):
    operator.world.broker.settings.watermarks.set_memory_relative(0)
    operator.world.broker.settings.watermarks.measured.used = 1
    operator.daemon.check_alarms()
    say(operator, "rabbit_alarm:clear_alarm({resource_limit, memory, node()}).")
    assert "memory" in operator.world.broker.alarms


def test_e12_the_alarm_of_file_descriptors_has_its_own_form(operator):
    say(operator, "rabbit_alarm:set_alarm({file_descriptor_limit, []}).")
    assert (False, "[{file_descriptor_limit,[]}]") == (
        bool(operator.world.broker.alarms),
        say(operator, "rabbit_alarm:get_alarms()."),
    )
    say(operator, "rabbit_alarm:clear_alarm(file_descriptor_limit).")
    assert say(operator, "rabbit_alarm:get_alarms().") == "[]"
