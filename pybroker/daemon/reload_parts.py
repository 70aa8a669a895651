"""The parts of a node that a reload changes beside the values: those that do not read a value whenever they need it."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pybroker.daemon.config.config import Config

if TYPE_CHECKING:
    from pybroker.daemon.configuration import Prepare
    from pybroker.daemon.daemon import Daemon


def find_all(daemon: "Daemon") -> "list[Prepare]":
    """Return what prepares each part, in the order in which they are put in force."""
    return [tls(daemon), https(daemon), values(daemon)]


def tls(daemon: "Daemon") -> "Prepare":
    """Return what prepares the contexts of TLS, from files that are read anew."""

    def prepare(target: Config, wanted: Config) -> Callable[[], str | None]:
        if target.tls is None and wanted.tls is None:
            return _nothing
        from pybroker.daemon.tls.build import build  # noqa: PLC0415 - OpenSSL, for those who use TLS

        if wanted.tls is not None and wanted.tls != target.tls:
            build(wanted.tls)
        if target.tls is None or daemon.tls is None:
            return _nothing
        keeper = daemon.tls.keeper
        return partial(keeper.reload, keeper.prepare(target.tls))

    return prepare


def https(daemon: "Daemon") -> "Prepare":
    """Refuse files of HTTPS that do not fit: pybroker-web reads them by itself, and would keep the old ones."""

    def prepare(target: Config, _wanted: Config) -> Callable[[], None]:
        options = None if target.management is None else target.management.tls
        if options is not None:
            from pybroker.daemon.tls.build import build  # noqa: PLC0415 - likewise

            build(options)
        return _nothing if daemon.https is None else daemon.https.read

    return prepare


def _nothing() -> None:
    pass


def values(daemon: "Daemon") -> "Prepare":
    """Return what prepares the log, the telemetry, trusted proxies and the limits of memory and disk."""

    def prepare(_target: Config, _wanted: Config) -> Callable[[], None]:
        marks = daemon.config.settings.watermarks
        before = marks.memory_limit_octets, marks.disk_limit_octets

        def put_in_force() -> None:
            config = daemon.config
            daemon.log.reconfigure(config)
            daemon.server.trusted_proxies = config.trusted_proxies
            if daemon.telemetry is not None:
                daemon.telemetry.interval_ms = config.telemetry_interval_ms
                daemon.telemetry.retain(config.telemetry_retention_days)
            daemon.controller.measure_memory()
            if marks.memory_limit_octets != before[0]:
                marks.log_memory()
            if marks.disk_limit_octets != before[1]:
                marks.log_disk()
            daemon.controller.check_alarms()

        return put_in_force

    return prepare
