import pytest

from pybroker.control.spec import BadArguments


def test_the_level_is_set_and_noted(operator):
    assert operator.ask("set_log_level", level="debug") is None
    assert operator.daemon.asked == ["set_log_level debug"]
    changed = operator.world.broker.settings.set_at_run_time
    assert changed == {f"log.{place}.level": "debug" for place in ("file", "console", "journald")}


def test_an_unknown_level_is_refused(operator):
    with pytest.raises(BadArguments) as refused:
        operator.ask("set_log_level", level="loud")
    assert refused.value.exit_code == 64
    assert refused.value.text.startswith("level 'loud' is not supported. Please use one of: debug, info, ")
