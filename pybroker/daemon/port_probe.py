"""Tries whether a listener can be reached from this machine, without holding up anybody else meanwhile."""

from gevent import socket

# A listener on all interfaces is reached by the loopback address of the same family.
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not bound to, looked up


def why_unreachable(host: str, port: int, timeout_s: float) -> str:
    """Connect and hang up; return what the system said against it, nothing if it worked. Port 0: `host` is a path."""
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
