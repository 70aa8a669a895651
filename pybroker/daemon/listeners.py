"""The listeners that the configuration asks for, opened on the server; knows addresses, no protocol.

All interfaces and `localhost` mean both IP families, on one port; where the machine has only one of them, that one.
"""

import errno
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pybroker import paths
from pybroker.daemon.config.config import Config
from pybroker.daemon.config.values import Address
from pybroker.daemon.port_probe import port_holder
from pybroker.daemon.start_error import StartError, refused_by_system
from pybroker.log_event import event
from pybroker.net.listener import Listener
from pybroker.net.server import AMQP, STREAM, Door, Server

# IPv6 first: on port 0 the kernel then picks one that is free in both families.
_HOSTS: Final = {"": ("::", "0.0.0.0"), "localhost": ("::1", "127.0.0.1")}  # noqa: S104 - guest is refused from afar
_NO_FAMILY: Final = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}
# RabbitMQ's name of AMQP over TLS.
AMQP_TLS: Final = "amqp/ssl"
STREAM_TLS: Final = "stream/ssl"
FREE_PORT_ATTEMPTS: Final = 8

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.net.preamble import Preamble, Step

log = logging.getLogger("pybroker")


class Listeners:
    """The listeners of a configuration; those with TLS begin with the step `tls`. A port of 0 is chosen once."""

    def __init__(self, server: Server, config: Config, tls: "Callable[[Preamble], Step] | None" = None) -> None:
        self._server = server
        self._backlog = config.backlog
        self._unix = config.unix
        self._addresses = {AMQP: config.tcp, STREAM: config.stream_tcp}
        if tls is not None:
            self._addresses[AMQP._replace(protocol=AMQP_TLS, steps=(tls,))] = config.ssl
            self._addresses[STREAM._replace(protocol=STREAM_TLS, steps=(tls,))] = config.stream_ssl

    def open(self) -> list[Path]:
        """Open all of them; return the files of Unix sockets. Raises StartError: then none is open."""
        kept = {}
        try:
            for door, addresses in self._addresses.items():
                opened = [open_tcp(self._server, address, self._backlog, door)[0] for address in addresses]
                kept[door] = tuple(Address(host, one.port) for (host, _), one in zip(addresses, opened, strict=True))
            for path in self._unix:
                open_unix(self._server, path, self._backlog)
        except StartError:
            self._server.close_listeners()
            raise
        self._addresses = kept
        return list(self._unix)


def open_tcp(server: Server, address: Address, backlog: int, door: Door = AMQP) -> list[Listener]:
    """Open an address, once per IP family that it means and the machine has.

    Raises:
        StartError: it is taken, not ours, or not permitted.

    """
    for attempt in range(FREE_PORT_ATTEMPTS):
        opened: list[Listener] = []
        try:
            _open_families(server, address, backlog, door, opened)
        except OSError as error:
            port = opened[0].port if opened else address.port
            for listener in opened:
                server.broker.listeners.remove(listener)
                listener.close()
            # The port that one family got freely may be taken in the other.
            if error.errno == errno.EADDRINUSE and address.port == 0 and attempt + 1 < FREE_PORT_ATTEMPTS:
                continue
            refused = refused_by_system(f"cannot listen on {Address(address.host, port)}", error)
            if error.errno == errno.EADDRINUSE:
                holder = port_holder(port) or "another program"
                text = f"{refused.text} by {holder}; stop that, or choose another port"
                refused = StartError(text, refused.code)
            raise refused from None
        break
    for listener in opened:
        log.info("started %s listener on %s", kind(listener), describe(listener), extra=event("listener.started"))
    return opened


def _open_families(server: Server, address: Address, backlog: int, door: Door, opened: list[Listener]) -> None:
    """Append the listeners of an address to `opened`. Raises OSError."""
    hosts = _HOSTS.get(address.host, (address.host,))
    for host in hosts:
        try:
            opened.append(server.listen_tcp(host, opened[0].port if opened else address.port, backlog, door))
        except OSError as error:
            if error.errno not in _NO_FAMILY or (host == hosts[-1] and not opened):
                raise


def open_unix(server: Server, path: Path, backlog: int) -> Listener:
    """Open a Unix socket for clients.

    Raises:
        StartError: the path cannot be used.

    """
    check_socket_path(path)
    try:
        listener = server.listen_unix(str(path), backlog)
    except OSError as error:
        raise refused_by_system(f"cannot listen on {path}", error) from None
    log.info("started Unix listener on %s", describe(listener), extra=event("listener.started"))
    return listener


def kind(listener: Listener) -> str:
    """Return what a listener is, in RabbitMQ's words."""
    if listener.path:
        return "Unix"
    return "TLS (SSL)" if listener.protocol in {AMQP_TLS, STREAM_TLS} else "TCP"


def describe(listener: Listener) -> str:
    """Return where a listener listens: its path, or `[::]:5672`."""
    return listener.path or str(Address(listener.interface, listener.port))


def check_socket_path(path: Path) -> None:
    """Check that the kernel takes a path of this length.

    Raises:
        StartError: it does not.

    """
    if len(str(path).encode()) > paths.SOCKET_PATH_OCTETS_MAX:
        raise StartError(f"the socket path {path} is longer than {paths.SOCKET_PATH_OCTETS_MAX} octets", os.EX_CONFIG)
