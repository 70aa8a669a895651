"""A reload reaches the parts that keep values of their own: log, telemetry, proxies, limits."""

from types import SimpleNamespace

import pytest

from pybroker.clock import Clock
from pybroker.core.broker import Broker
from pybroker.core.settings import Settings
from pybroker.daemon import reload_parts
from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import configure
from pybroker.daemon.config.difference import reloaded, take_over
from pybroker.daemon.config.tls_options import Files, TlsOptions
from pybroker.daemon.start_error import StartError
from pybroker.daemon.tls.keeper import TlsKeeper
from pybroker.session import Turn
from tests.certificates import make_certificates

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
        self.controller = self
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


def test_files_of_https_that_do_not_fit_are_refused(tmp_path):
    made = make_certificates(tmp_path)

    def config(key):
        lines = f"management.ssl.certfile = {made.server.certificate}\nmanagement.ssl.keyfile = {key}\n"
        return configure(*parse_conf(lines.encode(), "f"))

    daemon, read = SimpleNamespace(https=None), []
    assert reload_parts.https(daemon)(config(made.server.key), config("/none"))() is None
    daemon.https = SimpleNamespace(read=lambda: read.append(1))
    reload_parts.https(daemon)(config(made.server.key), config("/none"))()
    assert read == [1]
    with pytest.raises(StartError, match="the key does not belong to the certificate"):
        reload_parts.https(daemon)(config(made.client.key), config(made.client.key))


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


def certificates_of(tmp_path):
    made = make_certificates(tmp_path)
    return TlsOptions(Files(*made.server)), TlsOptions(Files(*made.authority.server("second"))), made


def keeper_of(options):
    clock = Clock()
    clock.refresh()
    return TlsKeeper(Broker(Settings(), clock, Turn()), options)


def test_certificates_are_swapped_when_all_is_prepared(tmp_path):
    options, other, _ = certificates_of(tmp_path)
    daemon = Fake()
    keeper = keeper_of(options)
    daemon.tls = SimpleNamespace(keeper=keeper)
    before = keeper.current
    target = SimpleNamespace(tls=other)
    put_in_force = reload_parts.tls(daemon)(target, target)
    assert keeper.current is before
    assert put_in_force() == f"new connections get the certificate in {other.files.certificate}"
    assert keeper.current is not before
    assert keeper.options is other
    assert reload_parts.tls(daemon)(target, target)() is None


def test_certificates_that_cannot_be_are_refused_now_or_for_after_a_restart(tmp_path):
    options, other, made = certificates_of(tmp_path)
    daemon = Fake()
    keeper = keeper_of(options)
    daemon.tls = SimpleNamespace(keeper=keeper)
    good, bad = (
        SimpleNamespace(tls=other),
        SimpleNamespace(tls=TlsOptions(Files(made.server.certificate, made.client.key))),
    )
    expired = SimpleNamespace(tls=TlsOptions(Files(*made.expired)))
    for target, wanted in ((bad, bad), (good, bad), (expired, expired)):
        with pytest.raises(StartError):
            reload_parts.tls(daemon)(target, wanted)
    assert keeper.options is options


def test_a_certificate_that_has_expired_since_is_no_reason_to_refuse_another_change(tmp_path):
    _, _, made = certificates_of(tmp_path)
    daemon = Fake()
    options = TlsOptions(Files(*made.expired))
    daemon.tls = SimpleNamespace(keeper=keeper_of(options))
    same = SimpleNamespace(tls=options)
    reload_parts.tls(daemon)(same, same)()


def test_without_tls_nothing_of_it_is_loaded():
    daemon = Fake()
    daemon.tls = None
    none = SimpleNamespace(tls=None)
    assert reload_parts.tls(daemon)(none, none)() is None


def test_limits_that_stay_are_not_told_of(caplog):
    caplog.set_level("INFO", "pybroker")
    daemon = Fake()
    daemon.telemetry = None
    reload_parts.values(daemon)(daemon.config, daemon.config)()
    assert "limit set" not in caplog.text
