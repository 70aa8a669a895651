"""The way from a configuration to a running daemon: folders, lock, log, limits, sockets, first screen. In this order.

The data folder comes first: it knows the node's name, and log and control socket are named after the node.
"""

import errno
import logging
import os
import platform
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import gevent

from pybroker import descriptors, paths
from pybroker.daemon.banner import Banner, show
from pybroker.daemon.config.config import Config
from pybroker.daemon.daemon import Daemon
from pybroker.daemon.data_folder import claim_data_folder
from pybroker.daemon.listeners import AMQP_TLS, STREAM_TLS, check_socket_path, describe
from pybroker.daemon.log.log import Log
from pybroker.daemon.resources import total_memory
from pybroker.daemon.start_error import StartError, refused_by_system
from pybroker.daemon.system.systemd import Notifier
from pybroker.log_event import BUG, event
from pybroker.net.server import AMQP, STREAM
from pybroker.version import VERSION
from pybroker.wire.content import CODEC

# By protocol, for the first screen.
LISTENERS: Final = {
    AMQP.protocol: "AMQP listener",
    AMQP_TLS: "AMQP over TLS listener",
    STREAM.protocol: "stream listener",
    STREAM_TLS: "stream over TLS listener",
}
EVERYWHERE: Final = ("", "::", "0.0.0.0")  # noqa: S104 - compared, not bound
TAKEN: Final = " (another program listens there; served once it ends)"

log = logging.getLogger("pybroker")


def boot(config: Config) -> Daemon:
    """Return the daemon, serving.

    Raises:
        StartError: something it needs is not to be had; nothing of it is left behind then.

    """
    folder = claim_data_folder(config.data_dir, config.node_name, paths.default_node_name())
    config.name_node(folder.node_name)
    log_ = Log()
    try:
        _make_runtime_folder(config)
        log_.open(config)
        _log_places(config, descriptors.raise_limit())
        for warning in config.warnings:
            # Not an argument, which would be cut off: two places in a file are long.
            log.warning(warning, extra=event("config.warning"))
        total_memory.announce(config.settings.watermarks)
        gevent.config.format_context = "builtins.repr"  # never called; gevent's own choice loads pprint
        gevent.get_hub().print_exception = _log_failure
        daemon = Daemon(config, folder, log_, Notifier())
        web = _web_addresses(config)  # before pybroker-web has the ports
        daemon.start()
    except StartError as error:
        # Not an argument, which would be cut off.
        log.critical(f"cannot start: {error.text}", extra=event("node.start_failed"))  # noqa: G004
        log_.close()
        folder.release()
        raise
    show(first_screen(config, daemon, web), sys.stdout)
    return daemon


def first_screen(config: Config, daemon: Daemon, web: Sequence[tuple[str, str]]) -> Banner:
    """Return the banner for the operator: every place, and the commands that come next."""
    settings = config.settings
    listeners = daemon.broker.listeners
    places = [("node", settings.node_name)]
    places += [(LISTENERS[each.protocol], describe(each)) for each in listeners]
    places += [
        *web,
        ("control socket", str(config.control_socket)),
        ("data folder", str(config.data_dir)),
        ("config file", settings.config_files[0] if settings.config_files else "none, using defaults"),
        *[("log", name) for name in settings.log_files or ("none",)],
        ("pid", str(os.getpid())),
        ("codec", describe_codec()),
    ]
    ctl = _ctl_command(config)
    hints = [(f"{ctl} status", "show the status"), (f"{ctl} list_queues", "list queues and their depth")]
    if daemon.broker.users.authenticate("guest", "guest") is not None:
        hints += _addresses(listeners, with_certificate=config.tls is not None and config.tls.required)
    if sys.stdin is not None and sys.stdin.isatty():
        hints.append(("Ctrl-C", "stops it"))
    return Banner(places, hints)


def _web_addresses(config: Config) -> list[tuple[str, str]]:
    """Return where pybroker-web answers, for a browser on this machine; nothing for a port of its choice."""
    if not config.has_web:
        return []
    found = []
    if config.prometheus:
        found.append(("metrics", "http", config.prometheus_host, config.prometheus_port, "metrics"))
    if (management := config.management) is not None:
        found.insert(0, ("web interface", "http", management.host, management.port, ""))
        if management.tls is not None:
            found.insert(1, ("web interface over TLS", "https", management.tls_host, management.tls_port, ""))
    return [
        (name, f"{scheme}://{_for_url(host)}:{port}/{path}{'' if _is_free(host, port) else TAKEN}")
        for name, scheme, host, port, path in found
        if port
    ]


def _is_free(host: str, port: int) -> bool:
    """Tell whether nobody listens on a port; true as well if that cannot be found out."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
    except OSError as error:
        return error.errno != errno.EADDRINUSE
    return True


def _for_url(host: str) -> str:
    """Return the host of an address for a browser on this machine."""
    if host in EVERYWHERE:
        return "localhost"
    return f"[{host}]" if ":" in host else host


def _addresses(listeners: list[Any], *, with_certificate: bool) -> list[tuple[str, str]]:
    """Return where a client on this machine connects, in plain and over TLS."""
    over_tls = " over TLS, with a certificate of its own" if with_certificate else " over TLS"
    kinds = (("amqp", AMQP.protocol, ""), ("amqps", AMQP_TLS, over_tls))
    found = [
        (scheme, [each.port for each in listeners if not each.path and each.protocol == protocol], how)
        for scheme, protocol, how in kinds
    ]
    return [
        (f"{scheme}://guest:guest@localhost:{ports[0]}/", f"connect a client on this machine{how}")
        for scheme, ports, how in found
        if ports
    ]


def describe_codec() -> str:
    """Return which codec runs; of the slow one also what it costs, and how to have the fast one."""
    if CODEC == "C":
        return CODEC
    if os.environ.get("PYBROKER_PURE") == "1":
        advice = "unset PYBROKER_PURE to use the C codec"
    else:
        advice = "for the C codec, install gcc and python3-dev, then reinstall pybroker"
    return f"{CODEC}, several times slower with small messages; {advice}"


def _ctl_command(config: Config) -> str:
    """Return how pybrokerctl is called from here: by its path if PATH lacks it, with options that find this node."""
    beside = Path(sys.argv[0]).resolve().parent / "pybrokerctl"
    # Not shutil.which: shutil brings two compressors, half a megabyte.
    on_path = any(_is_program(Path(folder, "pybrokerctl")) for folder in os.get_exec_path())
    ctl = str(beside) if not on_path and _is_program(beside) else "pybrokerctl"
    assert config.control_socket is not None
    if config.control_socket.parent not in {paths.runtime_dir(), paths.SYSTEM_RUNTIME_DIR}:
        ctl += f" --socket {config.control_socket}"
    elif config.settings.node_name != paths.default_node_name():
        ctl += f" -n {config.settings.node_name}"
    return ctl


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()


def _make_runtime_folder(config: Config) -> None:
    """Make the control socket's folder; in a folder that everybody may write, refuse one that somebody else made."""
    assert config.control_socket is not None
    check_socket_path(config.control_socket)
    folder = config.control_socket.parent
    if folder != paths.runtime_dir():
        return
    if folder == paths.data_dir() / "run":
        usual = paths.usual_runtime_dir() or "the runtime folder in /tmp"
        config.warnings.append(f"{usual} belongs to another user: the control socket is in {folder}")
    # Without XDG_RUNTIME_DIR the parent lies in /tmp, and its owner could put another folder in our place.
    for each in (folder.parent, folder):
        try:
            each.mkdir(mode=0o755 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
            owner = each.stat().st_uid
        except OSError as error:
            raise refused_by_system(f"cannot use the folder {each} for the control socket", error) from None
        if owner not in {0, os.geteuid()}:
            raise StartError(f"the folder {each} belongs to another user: specify --socket", os.EX_NOPERM)


def _log_places(config: Config, files_max: int) -> None:
    settings = config.settings
    places = (
        f" node           : {settings.node_name}",
        f" config file(s) : {', '.join(settings.config_files) or '(none)'}",
        f" log(s)         : {', '.join(settings.log_files) or '(none)'}",
        f" audit log      : {config.audit_file or '(none)'}",
        f" data dir       : {settings.data_dir}",
        f" control socket : {config.control_socket}",
        f" open files     : {files_max} at most",
        f" codec          : {describe_codec()}",
    )
    python, extra = platform.python_version(), event("node.starting", more=places)
    log.info("Starting pybroker %s on Python %s [%s]", VERSION, python, sys.platform, extra=extra)


def _log_failure(context: Any, kind: Any, value: Any, trace: Any) -> None:
    """Put a failed greenlet or callback into the log; gevent would write it to standard error."""
    log.error("%r failed", context, exc_info=(kind, value, trace), extra=event(BUG))
