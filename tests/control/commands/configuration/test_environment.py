def test_each_setting_has_a_value_and_a_source(operator):
    assert operator.ask("environment") == {
        "heartbeat": {"value": "60", "source": "default"},
        "channel_max": {"value": "10", "source": "/etc/pybroker/pybroker.conf:3"},
    }
