"""The configuration of pybroker-web."""


def test_the_settings_are_the_configurations(operator):
    assert operator.ask("web_settings") == operator.daemon.web_settings
