"""DaemonController: all that commands and SIGHUP ask of the daemon around the broker (`control/roles.Controller`).

It asks the daemon's parts, owns none of them, and refuses as commands do.
"""

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.spec import Refused, Work
from pybroker.control.web_sessions import WebSessions
from pybroker.core.events.cause import Cause
from pybroker.core.topology.exchange_declare import drop_transient
from pybroker.daemon import loading, port_probe, snapshot_hold
from pybroker.daemon.config.environment import Row, effective
from pybroker.daemon.config.tls_options import VERSIONS
from pybroker.daemon.resources import rss, total_memory
from pybroker.daemon.start_error import StartError
from pybroker.log_event import event
from pybroker.net.server import files_max
from pybroker.store.journal.log_stats import figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pybroker.core.auth.expiry import CertificateFile
    from pybroker.daemon.configuration import Configuration
    from pybroker.daemon.daemon import Daemon
    from pybroker.store.journal.journal import Journal

SUSPENDED: Final = "the listeners are suspended: no client can connect until 'pybrokerctl resume_listeners'"

log = logging.getLogger("pybroker")


class DaemonController:
    """Made with its daemon, and used once that has started."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon
        self._suspended = False
        self.web_sessions = WebSessions(daemon.broker)

    @property
    def configuration(self) -> "Configuration":
        """Return the configuration, to be explained, compared or reloaded."""
        return self._daemon.configuration

    @property
    def _access_log(self) -> str:
        """Return the form of pybroker-web's access log, which is a part of the log at debug."""
        if not log.isEnabledFor(logging.DEBUG):
            return ""
        config = self._daemon.config
        return "json" if "json" in {config.log_formatter, config.console_formatter} else "text"

    @property
    def web_settings(self) -> dict[str, Any]:
        """Return what pybroker-web is configured to do, by section."""
        config = self._daemon.config
        place = {"host": config.prometheus_host, "port": config.prometheus_port}
        return {
            "prometheus": {**place, "series_max": config.prometheus_series_max} if config.prometheus else None,
            "management": None if config.management is None else config.management.document(),
            "access_log": self._access_log,
        }

    @property
    def app_running(self) -> bool:
        """Tell whether clients are served."""
        return self._daemon.app_running

    def stop(self) -> None:
        """Ask the daemon to end; returns at once."""
        self._daemon.stop()

    def start_app(self) -> None:
        """Open the listeners, on the ports they had before. Raises Refused when one cannot be opened."""
        try:
            self._daemon.open_listeners()
        except StartError as error:
            raise Refused(error.text, error.code) from None
        self._suspended = False
        self._daemon.broker.notices.withdraw(SUSPENDED)

    def stop_app(self) -> None:
        """Stop serving, and delete the queues and exchanges that are not durable, as RabbitMQ does."""
        self._daemon.stop_serving()
        for vhost in self._daemon.broker.vhosts.values():
            drop_transient(vhost)

    def reset(self, cause: Cause) -> int:
        """Delete every definition and message; return the commit position. Only while the app is stopped.

        Definitions to load at a start are loaded again. Raises Refused when that cannot be.
        """
        commit_position = self._daemon.broker.reset(cause)
        try:
            loading.load(self._daemon.config, self._daemon.broker)
        except StartError as error:
            raise Refused(error.text, error.code) from None
        return commit_position

    @property
    def recovering(self) -> int | None:
        """Return how much of the log was read, in percent; None when that is done."""
        return self._daemon.storage.recovering

    @property
    def sockets_max(self) -> int:
        """Return how many file descriptors may be in use before no client is let in."""
        return files_max()

    @property
    def certificate_files(self) -> "tuple[CertificateFile, ...]":
        """Return the certificates of the TLS listeners and of HTTPS, by file."""
        of_amqp = () if self._daemon.tls is None else self._daemon.tls.keeper.expiry.files
        return of_amqp if self._daemon.https is None else (*of_amqp, *self._daemon.https.expiry.files)

    @property
    def tls_versions(self) -> tuple[str, ...]:
        """Return the versions of TLS that are configured, or that could be."""
        return VERSIONS if self._daemon.tls is None else self._daemon.tls.keeper.versions

    def environment(self) -> list[Row]:
        """Return every setting in force: key, value, source."""
        return effective(self._daemon.config)

    def log_tail(self, count: int) -> list[str]:
        """Return the last lines of the log file. Raises Refused when there is none."""
        lines = self._daemon.log.tail(count)
        if lines is None:
            raise Refused("the node does not write a log file", os.EX_UNAVAILABLE)
        return lines

    def set_log_level(self, level: str) -> None:
        """Log lines of this level and above from now on."""
        config = self._daemon.config
        config.log_level = config.console_level = config.journald_level = level
        self._daemon.log.set_level(level)

    def measure_memory(self) -> None:
        """Look again how much memory there is."""
        self._daemon.config.settings.watermarks.set_total(total_memory.measure())

    def check_alarms(self) -> None:
        """Compare memory and disk with their limits now, and set or clear the alarms: a limit was changed."""
        self._daemon.memory.check()
        self._daemon.disk.check()

    def watch_disk(self, *, on: bool) -> None:
        """Watch the free disk space from now on, or no longer."""
        if on:
            self._daemon.disk.enable()
        else:
            self._daemon.disk.disable()

    def resident_set(self) -> rss.ResidentSet:
        """Return what of the process is in memory."""
        return rss.measure(self._daemon.allocator)

    def telemetry_figures(self) -> dict[str, Any] | None:
        """Return what the telemetry has written since the start; None if there is none."""
        telemetry, streams = self._daemon.telemetry, self._daemon.streams
        if telemetry is None:
            return None
        return {**telemetry.figures, "streams": None if streams is None else streams.figures}

    def why_unreachable(self, host: str, port: int, timeout_s: float) -> str:
        """Try to connect to a listener; return what stood against it."""
        return port_probe.why_unreachable(host, port, timeout_s)

    def log_status(self) -> dict[str, Any]:
        """Return the figures of the durable log. Raises Refused while it is not read yet."""
        return {
            "node": self._daemon.config.settings.node_name,
            "data_dir": str(self._daemon.folder.path),
            **figures(self._journal()),
        }

    def hold_log(self, pause: "Callable[[float], object]") -> Work:
        """Hold what of the durable log is on disk. Raises Refused."""
        return snapshot_hold.hold(
            self._journal(), self._daemon.config.settings.node_name, self._daemon.folder.path, pause
        )

    def _journal(self) -> "Journal":
        if self._daemon.storage.journal is None:
            raise Refused("another command is still reading the log of the node", os.EX_TEMPFAIL)
        return self._daemon.storage.journal

    def reopen_log(self) -> None:
        """Open the log file by its name again, after a rotation. Raises Refused when it cannot be opened."""
        why = self._daemon.log.reopen()
        if self._daemon.audit is not None:
            self._daemon.audit.reopen()
        if why:
            raise Refused(f"{why}; continuing with the old file", os.EX_CANTCREAT)
        log.info("log file reopened", extra=event("log.reopened"))

    def hang_up(self) -> None:
        """Do what SIGHUP asks for: log files by their names, the configuration anew; the log says what went wrong."""
        with suppress(Refused):
            self.reopen_log()
        with suppress(Refused):
            self.configuration.reload(Cause("signal SIGHUP"))

    def follow_log(self) -> "AbstractContextManager[Callable[[int], list[str]]]":
        """Enter with a function that returns the lines logged since, so many at most at a call."""
        return self._daemon.log.follow()

    def suspend_listeners(self) -> None:
        """Close the listeners; clients that are connected stay."""
        if self._suspended:
            return
        self._suspended = True
        count, extra = len(self._daemon.broker.listeners), event("listener.suspended")
        log.info("Asked to suspend %d client connection listeners", count, extra=extra)
        self._daemon.server.close_listeners()
        self._daemon.broker.notices.add(SUSPENDED)

    def resume_listeners(self) -> None:
        """Open the listeners again that were suspended. Raises Refused when one cannot be opened."""
        if self._suspended:
            log.info("Asked to resume client connection listeners", extra=event("listener.resumed"))
            self.start_app()

    def audit_lines(self, pause: "Callable[[float], object]") -> "Iterator[bytes]":
        """Yield the lines of the audit log from the last one back. Raises Refused: there is none, it cannot be read."""
        if self._daemon.audit is None:
            raise Refused("the node does not write an audit log (log.audit = false)", os.EX_UNAVAILABLE)
        try:
            yield from self._daemon.audit.lines(pause)
        except OSError as error:
            text = f"the audit log cannot be read: {error.strerror or error}"
            raise Refused(text, os.EX_UNAVAILABLE) from error
