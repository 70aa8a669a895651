"""Notification of systemd (sd_notify(3)): started, stopping, still alive. Silent if systemd is not the parent."""

import os
import socket
import time
from collections.abc import Mapping
from typing import Final

_READY: Final = b"READY=1\nMAINPID=%d\nSTATUS=%s"


class Notifier:
    """A datagram socket to the service manager; every method does nothing without one."""

    __slots__ = ("_is_ready", "_socket", "watchdog_s")

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._socket: socket.socket | None = None
        self._is_ready = False
        self.watchdog_s: float | None = None
        address = environ.get("NOTIFY_SOCKET", "")
        if not address.startswith(("/", "@")):
            return
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)
            # A leading @ stands for the zero of the abstract name space.
            self._socket.connect("\0" + address[1:] if address.startswith("@") else address)
        except OSError:
            self.close()
            return
        self.watchdog_s = _watchdog_s(environ)

    @property
    def active(self) -> bool:
        """Tell whether there is a service manager."""
        return self._socket is not None

    def ready(self, status: str) -> None:
        """Tell that clients can connect."""
        self._is_ready = True
        self._send(_READY % (os.getpid(), status.encode()))

    def reloading(self) -> None:
        """Tell that the configuration is being read anew."""
        # systemd compares the time with that of its own request (Type=notify-reload). During the start it would take
        # the end of a reload for the end of the start.
        if self._is_ready:
            self._send(b"RELOADING=1\nMONOTONIC_USEC=%d" % (time.monotonic_ns() // 1_000))

    def reloaded(self, status: str) -> None:
        """Tell that this has ended, well or not."""
        if self._is_ready:
            self.ready(status)

    def starting(self, status: str, more_s: int) -> None:
        """Tell how far the start is, and that it may take `more_s` seconds from now on."""
        self._send(b"STATUS=%s\nEXTEND_TIMEOUT_USEC=%d" % (status.encode(), more_s * 1_000_000))

    def stopping(self) -> None:
        """Tell that the stop has begun."""
        self._send(b"STOPPING=1")

    def alive(self) -> None:
        """Feed the watchdog."""
        if self.watchdog_s is not None:
            self._send(b"WATCHDOG=1")

    def close(self) -> None:
        """Say nothing any more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, text: bytes) -> None:
        if self._socket is not None:
            try:
                self._socket.send(text)
            except OSError:
                # The manager went away or is busy: neither is a reason to stop serving.
                return


def _watchdog_s(environ: Mapping[str, str]) -> float | None:
    """Return the interval of systemd's watchdog in seconds; None without a watchdog for this process."""
    microseconds = environ.get("WATCHDOG_USEC", "")
    if not microseconds.isdigit() or environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(microseconds) / 1_000_000 or None
