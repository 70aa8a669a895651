"""Ports of this machine: whether a listener can be reached, and which program has one already."""

import psutil
from gevent import socket

# A listener on all interfaces is reached by the loopback address of the same family.
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not bound to, looked up


def why_unreachable(host: str, port: int, timeout_s: float) -> str:
    """Connect and hang up, while others go on; return what the system said against it, or nothing if it worked.

    With port 0 `host` is the path of a Unix socket.
    """
    trial = None
    try:
        if port:
            trial = socket.create_connection((_LOOPBACK.get(host, host), port), timeout_s)
        else:
            trial = socket.socket(socket.AF_UNIX)
            trial.settimeout(timeout_s)
            trial.connect(host)
    except OSError as error:
        return error.strerror or str(error)
    finally:
        if trial is not None:
            trial.close()
    return ""


def port_holder(port: int) -> str:
    """Return which program listens on a port: `nginx, process 123`.

    Nothing if that is not certain: the system hides others' processes, or several listen on different addresses.
    """
    try:
        listeners = [each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
        pids = {each.pid for each in listeners if each.laddr.port == port}
        pid = pids.pop() if len(pids) == 1 else None
        return "" if pid is None else f"{psutil.Process(pid).name()}, process {pid}"
    except (OSError, psutil.Error):
        return ""
