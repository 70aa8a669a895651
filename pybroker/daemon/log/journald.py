"""Lines of the log for systemd's journal, with their fields, by its own protocol: an entry is a datagram.

A value with line breaks is preceded by its length instead of `=`; an entry beyond the size of a datagram is passed as a
sealed file in memory. Nobody waits for the journal: entries that it has no room for are kept up to a limit, and more
are dropped and counted in a later one. See systemd's documentation of the Journal Native Protocol.
"""

import errno
import fcntl
import logging
import os
import socket
import struct
from collections import deque
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Final

from pybroker.daemon.log.log_format import LINE_CHARACTERS_MAX, capped, event_of, message_of, quoted
from pybroker.log_event import event

SOCKET: Final = "/run/systemd/journal/socket"
IDENTIFIER: Final = "pybroker"
# syslog's numbers, by the least level that they stand for.
_PRIORITIES: Final = ((50, "2"), (40, "3"), (30, "4"), (25, "5"), (20, "6"))
_DEBUG: Final = "7"
_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
# Entries that wait for room in the journal's socket: a kernel lets ten wait there, a system with systemd 512.
WAITING_MAX: Final = 1_000
# How long the end of the log may wait for a journal that does not read, in microseconds.
CLOSE_US_MAX: Final = 900_000
_LENGTH: Final = struct.Struct("<Q")


class JournaldHandler(logging.Handler):
    """Sends records to the journal, which may restart meanwhile. Any thread may log."""

    def __init__(self, node_name: str) -> None:
        """Raise OSError if there is no journal."""
        super().__init__()
        self._node_name = node_name
        self._path = SOCKET
        self._waiting: deque[bytes] = deque()
        self._dropped = 0
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            probe.connect(self._path)
        # Not connected: a journal that was restarted has another socket of that name.
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)

    def emit(self, record: logging.LogRecord) -> None:
        """Send one entry, behind those that wait."""
        try:
            if len(self._waiting) < WAITING_MAX:
                self._waiting.append(self._encode(record))
            else:
                self._dropped += 1
            self.flush()
        except Exception:  # noqa: BLE001 - as any handler: a line that cannot be written costs its caller nothing
            self.handleError(record)

    def flush(self) -> None:
        """Send what waits and how many were dropped, as far as the journal has room. Called about once a second."""
        with self.lock or nullcontext():
            while self._waiting and self._send(self._waiting[0]):
                self._waiting.popleft()
            if self._dropped and not self._waiting:
                self._waiting.append(self._encode(_drop_record(self._dropped)))
                self._dropped = 0
                self.flush()

    def close(self) -> None:
        """Send what waits, for CLOSE_US_MAX at most, and close the socket."""
        # The kernel's own limit: a call of Python's would ask over and over again.
        self._socket.setblocking(True)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, CLOSE_US_MAX))
        self.flush()
        self._socket.close()
        super().close()

    def _encode(self, record: logging.LogRecord) -> bytes:
        about = event_of(record)
        lines = [message_of(record), *about.more]
        if record.exc_info:
            lines += logging.Formatter().formatException(record.exc_info).splitlines()
        fields = {
            "MESSAGE": "\n".join(quoted(line, LINE_CHARACTERS_MAX) for line in lines),
            "PRIORITY": next((priority for least, priority in _PRIORITIES if record.levelno >= least), _DEBUG),
            "SYSLOG_IDENTIFIER": IDENTIFIER,
            "SYSLOG_PID": str(record.process),
            "CODE_FILE": record.pathname,
            "CODE_LINE": str(record.lineno),
            "CODE_FUNC": record.funcName or "",
            "PYBROKER_NODE": self._node_name,
            "PYBROKER_EVENT": about.id,
        }
        own = [(f"PYBROKER_{name.upper()}", str(capped(value))) for name, value in about.all_fields().items()]
        return encode_entry([*fields.items(), *own])

    def _send(self, entry: bytes) -> bool:
        """Return whether the journal has it."""
        try:
            self._socket.sendto(entry, self._path)
        except OSError as error:
            if error.errno not in {errno.EMSGSIZE, errno.ENOBUFS}:
                return False
            return self._send_file(entry)
        return True

    def _send_file(self, entry: bytes) -> bool:
        try:
            file = os.memfd_create("pybroker-log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            try:
                os.write(file, entry)
                fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", file))
                self._socket.sendmsg([b""], [rights], 0, self._path)
            finally:
                os.close(file)
        except OSError:
            return False
        return True


def encode_entry(fields: Iterable[tuple[str, str]]) -> bytes:
    """Return an entry's octets; lone surrogates are escaped, because a field is UTF-8."""
    parts = []
    for name, value in fields:
        octets = value.encode("utf-8", "backslashreplace")
        if b"\n" in octets:
            parts += [name.encode(), b"\n", _LENGTH.pack(len(octets)), octets, b"\n"]
        else:
            parts += [name.encode(), b"=", octets, b"\n"]
    return b"".join(parts)


def _drop_record(count: int) -> logging.LogRecord:
    extra = event("log.dropped", lines=count)
    text = "%d lines of the log were dropped because the journal was busy or away"
    return logging.getLogger("pybroker").makeRecord(
        "pybroker", logging.WARNING, __file__, 0, text, (count,), None, extra=extra
    )
