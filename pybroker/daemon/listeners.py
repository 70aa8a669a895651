"""The listeners that the configuration asks for, opened on the server; knows addresses, no protocol.

All interfaces and `localhost` mean both IP families, on one port; where the machine has only one of them, that one.
"""

import errno
import logging
from pathlib import Path
from typing import Final

from pybroker import paths
from pybroker.daemon.start_error import StartError, refused_by_system
from pybroker.daemon.values import Address
from pybroker.net.listener import Listener
from pybroker.net.server import Server

# IPv6 first: on port 0 the kernel then picks one that is free in both families.
_HOSTS: Final = {"": ("::", "0.0.0.0"), "localhost": ("::1", "127.0.0.1")}  # noqa: S104 - guest is refused from afar
_NO_FAMILY: Final = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}

log = logging.getLogger("pybroker")


def open_tcp(server: Server, address: Address, backlog: int) -> list[Listener]:
    """Open an address, once per IP family that it means and the machine has.

    Raises:
        StartError: it is taken, not ours, or not permitted.

    """
    hosts = _HOSTS.get(address.host, (address.host,))
    port = address.port
    opened: list[Listener] = []
    for host in hosts:
        try:
            listener = server.listen_tcp(host, port, backlog)
        except OSError as error:
            if error.errno in _NO_FAMILY and (opened or host != hosts[-1]):
                continue
            raise refused_by_system(f"cannot listen on {Address(host, port)}", error) from None
        port = listener.port
        opened.append(listener)
        log.info("started TCP listener on %s", describe(listener))
    return opened


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
    log.info("started Unix listener on %s", describe(listener))
    return listener


def describe(listener: Listener) -> str:
    """Return where a listener listens: its path, or `[::]:5672`."""
    return listener.path or str(Address(listener.interface, listener.port))


def check_socket_path(path: Path) -> None:
    """Check that the kernel takes a path of this length.

    Raises:
        StartError: it does not.

    """
    if len(str(path).encode()) > paths.SOCKET_PATH_OCTETS_MAX:
        raise StartError(f"the socket path {path} is longer than {paths.SOCKET_PATH_OCTETS_MAX} octets", 78)
