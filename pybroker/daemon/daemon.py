"""The running daemon: the broker with its protocols and sockets, from the first listener to the end.

Commands act on it through `controller.py`. `boot.py` has prepared its parts.
"""

import itertools
import logging
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent.event import Event

from pybroker.clock import Clock
from pybroker.control.server import ControlServer
from pybroker.core.broker import Broker
from pybroker.core.events.cause import BROKER
from pybroker.daemon import loading, reload_parts
from pybroker.daemon.banner import say_goodbye
from pybroker.daemon.config.config import Config
from pybroker.daemon.configuration import Configuration
from pybroker.daemon.controller import DaemonController
from pybroker.daemon.data_folder import DataFolder
from pybroker.daemon.definitions import DefinitionsStorage
from pybroker.daemon.listeners import Listeners, describe, kind
from pybroker.daemon.log.audit_log import AuditLog
from pybroker.daemon.log.log import Log
from pybroker.daemon.resources import garbage
from pybroker.daemon.resources.allocator import Allocator
from pybroker.daemon.resources.disk_monitor import DiskMonitor
from pybroker.daemon.resources.monitor import Monitor
from pybroker.daemon.start_error import StartError, refused_by_system
from pybroker.daemon.storage import Storage
from pybroker.daemon.system.signals import Signals
from pybroker.daemon.system.systemd import Notifier
from pybroker.daemon.telemetry.streams import OwnStreams
from pybroker.daemon.telemetry.telemetry import Telemetry
from pybroker.daemon.threads import ThreadWorker
from pybroker.daemon.web import Web
from pybroker.log_event import BUG, event
from pybroker.net.loop_cycle import LoopCycle
from pybroker.net.server import Server
from pybroker.version import VERSION

# RabbitMQ's text when its own supervisor stops it (rabbit_reader.erl); clients match on it.
STOP_TEXT: Final = "broker forced connection closure with reason 'shutdown'"
# How long clients may take to answer connection.close before their sockets are cut.
STOP_S_MAX: Final = 5.0
TICK_S: Final = 1.0

if TYPE_CHECKING:
    from pathlib import Path

    from pybroker.daemon.tls.front import TlsFront
    from pybroker.daemon.tls.https_files import HttpsFiles

log = logging.getLogger("pybroker")


class Daemon:
    """One node in one process. `run` returns once it was stopped; it cannot be started again."""

    def __init__(self, config: Config, folder: DataFolder, log_: Log, notifier: Notifier) -> None:
        assert config.control_socket is not None
        self.config = config
        self.folder = folder
        self.log = log_
        self.notifier = notifier
        self.signals = Signals(self.stop, self.stop_at_once)
        self.allocator = Allocator()
        clock = Clock()
        clock.refresh()
        turn = LoopCycle(clock)
        self.definitions = DefinitionsStorage(folder.path, clock, turn, self._disk_failed)
        self.broker = Broker(config.settings, clock, turn, self.definitions.store)
        self.broker.events.ready = False
        self.definitions.restore(self.broker)
        self.broker.events.ensure_vhost()
        self.broker.ensure_cluster_id()
        self.server = Server(self.broker)
        self.server.trusted_proxies = config.trusted_proxies
        self.secrets = ThreadWorker("secrets", turn)
        self.secrets.step_back()
        self.broker.logins.worker = self.secrets
        self.memory = Monitor(self.broker, self.allocator)
        self.disk = DiskMonitor(self.broker, folder.path)
        self.storage = Storage(folder.path, self.broker, notifier, self._disk_failed, self.disk.full)
        self.telemetry: Telemetry | None = None
        self.streams = OwnStreams(self.broker) if config.telemetry_streams else None
        self.audit: AuditLog | None = None
        self.controller = DaemonController(self)
        self.control = ControlServer(self.broker, config.control_socket, self.controller, turn.spare.pause)
        self.web: Web | None = None
        if config.has_web:
            # As a unit of systemd it has a unit of its own.
            child = not notifier.active
            self.web = Web(self.broker, self.controller, config.control_socket, turn.spare.pause, child=child)
        self.configuration = Configuration(self.broker, config, notifier, reload_parts.find_all(self))
        self.app_running = False
        self.tls: TlsFront | None = None
        self.https: HttpsFiles | None = None
        self._listeners = Listeners(self.server, config)
        self._greenlets: list[Any] = []
        self._files: list[Path] = []
        self._wanted = Event()
        self._exit_code = os.EX_OK

    def start(self) -> None:
        """Open the control socket, then the listeners: any client that can connect can be served.

        Raises:
            StartError: one of them cannot be opened; nothing stays open then.

        """
        self.signals.install(self.controller.hang_up)
        try:
            self._prepare_tls()
            self._open_audit()
            self._open_control()
            if self.web is not None:
                self.web.start()
            self.storage.open()
            self.broker.events.begin()
            loading.load(self.config, self.broker)
            # Before anybody can publish.
            self.controller.check_alarms()
            if self.streams is not None:
                self.streams.open()
            if self.config.telemetry:
                config, data = self.config, self.folder.path
                mirror = None if self.streams is None else self.streams.take_rows
                interval_ms, days = config.telemetry_interval_ms, config.telemetry_retention_days
                pause = self.server.turn.spare.pause
                self.telemetry = Telemetry(self.broker, data, interval_ms, days, pause, mirror)
            self.open_listeners()
            self._write_pid()
        except OSError as error:
            self._close()
            raise refused_by_system("cannot start", error) from None
        except StartError:
            self._close()
            raise
        self._greenlets = [gevent.spawn(life) for life in (self._tick, self.memory.run, self.disk.run)]
        if self.telemetry is not None:
            self._greenlets.append(gevent.spawn(self.telemetry.run))
        if self.streams is not None:
            self._greenlets += [gevent.spawn(self.streams.run_events), gevent.spawn(self.streams.run_rows)]
        if self.tls is not None:
            self._greenlets.append(gevent.spawn(self.tls.keeper.run))
        if self.https is not None:
            self._greenlets.append(gevent.spawn(self.https.run))
        garbage.begin()
        self.allocator.trim()  # of what only the start needed
        log.info("Server startup complete; 0 plugins started.", extra=event("node.started"))
        self.notifier.ready(f"serving as {self.config.settings.node_name}")

    def _open_control(self) -> None:
        try:
            self.control.start()
        except OSError as error:
            what = f"cannot listen on the control socket {self.control.path}"
            if isinstance(error, FileNotFoundError):
                what = f"{what}, its folder must exist"
            raise refused_by_system(what, error) from None
        self._files.append(self.control.path)

    def run(self) -> int:
        """Serve until told to stop, stop, and return the exit code."""
        self._wanted.wait()
        self._shut_down()
        return self._exit_code

    def _disk_failed(self) -> None:
        """End: the state on disk is unknown, and a broker that goes on would promise what it cannot keep."""
        self._exit_code = os.EX_IOERR
        self.stop()

    def stop(self) -> None:
        """Ask `run` to end; returns at once."""
        self._wanted.set()

    def stop_serving(self) -> None:
        """Close the listeners and say goodbye to the clients; returns when their sockets are closed."""
        self.app_running = False
        for listener in self.broker.listeners:
            log.info("stopped %s listener on %s", kind(listener), describe(listener), extra=event("listener.stopped"))
        self.server.stop(STOP_TEXT, STOP_S_MAX)

    def _open_audit(self) -> None:
        path, events = self.config.audit_file, self.broker.events
        if path is not None:
            self.audit = AuditLog(path, self.broker.clock)
            events.add_receiver(self.audit.record)
            events.note("node.started", {"name": self.config.settings.node_name, "version": VERSION}, BROKER)

    def _prepare_tls(self) -> None:
        """Make what TLS listeners need, if there are any. Raises StartError: a certificate or key cannot be used."""
        if self.config.management is not None and self.config.management.tls is not None:
            from pybroker.daemon.tls.build import build  # noqa: PLC0415 - likewise

            build(self.config.management.tls)  # pybroker-web would only say so in the log
            if self.web is not None:
                from pybroker.daemon.tls.https_files import HttpsFiles  # noqa: PLC0415 - likewise

                self.https = HttpsFiles(self.broker, self.config.management.tls)
        if self.config.tls is None:
            return
        from pybroker.daemon.tls.front import TlsFront  # noqa: PLC0415 - OpenSSL, 3 MB

        self.tls = TlsFront(self.broker, self.server.turn, self.config.tls)
        self._listeners = Listeners(self.server, self.config, self.tls.step)

    def stop_at_once(self, number: int) -> None:
        """End the process without waiting for anybody: the second signal. Exits with 128 + its number."""
        for path in self._files:
            path.unlink(missing_ok=True)
        os._exit(128 + number)

    def open_listeners(self) -> None:
        """Open every listener, or none and raise StartError."""
        self._files += self._listeners.open()
        self.app_running = True

    def _shut_down(self) -> None:
        self.signals.expect_second()
        self.notifier.stopping()
        log.info("pybroker is asked to stop...", extra=event("node.stopping"))
        say_goodbye(len(self.server.connections), sys.stdout)
        self._close()
        log.info("Successfully stopped pybroker", extra=event("node.stopped"))
        self.notifier.close()
        self.log.close()
        self.folder.release()
        self.signals.expect_none()

    def _close(self) -> None:
        if self.app_running:
            self.stop_serving()
        if self.telemetry is not None:
            self.telemetry.stop()
        if self.streams is not None:
            self.streams.stop()
        if self.web is not None:
            self.web.stop()
        # The log first: batches wait for definitions, and files of new streams that are made now change some.
        self.storage.close()
        self.definitions.close()
        self.control.stop()
        self.secrets.stop()
        if self.tls is not None:
            self.tls.stop()
        if self.audit is not None:
            self.broker.events.note("node.stopped", {"name": self.config.settings.node_name}, BROKER)
            self.broker.events.remove_receiver(self.audit.record)
            self.audit.close()
            self.audit = None
        for greenlet in self._greenlets:
            greenlet.kill(block=False)
        for path in self._files:
            path.unlink(missing_ok=True)

    def _write_pid(self) -> None:
        path = self.config.pid_file
        if path is None:
            return
        try:
            path.write_text(f"{os.getpid()}\n")
        except OSError as error:
            raise refused_by_system(f"cannot write the pid file {path}", error) from None
        self._files.append(path)

    def _tick(self) -> None:
        """Once a second, and often enough for systemd's watchdog; faster beats are called in between as well."""
        pause_s = min(TICK_S, (self.notifier.watchdog_s or 2 * TICK_S) / 2) / 2
        between = (self.broker.beat, garbage.collect_young)
        tick_broker = partial(self.broker.tick, self._let_others)
        whole = (self.allocator.tick, self.server.check_files, tick_broker, garbage.collect_young, self.log.flush)
        for ticks in itertools.cycle((between, whole)):
            gevent.sleep(pause_s)
            for tick in ticks:
                self._let_others()
                try:
                    tick()
                except Exception:
                    # A bug in one of them must not end all heartbeats.
                    log.exception("the tick failed", extra=event(BUG))
            self.notifier.alive()

    def _let_others(self) -> None:
        """Let everybody go on who would notice what lasts a tenth of a millisecond."""
        self.server.turn.spare.pause(0, ahead=True)
        self.broker.clock.refresh()
