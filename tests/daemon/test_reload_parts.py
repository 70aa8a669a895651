"""A reload reaches the parts that keep values of their own: log, telemetry, proxies, limits."""

from types import SimpleNamespace

from pybroker.daemon import reload_parts
from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import configure
from pybroker.daemon.config.difference import reloaded, take_over

TEXT = b"""
log.file.level = debug
telemetry.interval = 5000
telemetry.retention = 3
proxy_protocol = true
proxy_protocol.trusted.1 = 10.0.0.5
vm_memory_high_watermark.absolute = 1000000
disk_free_limit.absolute = 2000000
"""


class Fake:
    """A daemon that remembers what it was asked for."""

    def __init__(self):
        self.config = configure([])
        self.config.name_node("n@h")
        self.asked = []
        self.log = SimpleNamespace(reconfigure=lambda config: self.asked.append(config.log_level))
        self.server = SimpleNamespace(trusted_proxies=())
        self.telemetry = SimpleNamespace(interval_ms=10_000, retain=self.asked.append)

    def measure_memory(self):
        self.asked.append("measured")

    def check_alarms(self):
        self.asked.append("alarms")


def test_nothing_happens_before_the_values_are_in_force(caplog):
    caplog.set_level("INFO", "pybroker")
    daemon = Fake()
    target = reloaded(daemon.config, configure(parse_conf(TEXT, "f")[0]))
    put_in_force = reload_parts.values(daemon)(target, target)
    assert daemon.asked == []
    take_over(daemon.config, target)
    put_in_force()
    assert daemon.asked == ["debug", 3, "measured", "alarms"]
    assert daemon.telemetry.interval_ms == 5_000
    assert [str(each) for each in daemon.server.trusted_proxies] == [str(each) for each in target.trusted_proxies] != []
    assert "Memory limit set to 0MB. (1000000 octets" in caplog.text
    assert "Disk free limit set to 1MB (2000000 octets)" in caplog.text


def test_limits_that_stay_are_not_told_of(caplog):
    caplog.set_level("INFO", "pybroker")
    daemon = Fake()
    daemon.telemetry = None
    reload_parts.values(daemon)(daemon.config, daemon.config)()
    assert "limit set" not in caplog.text
