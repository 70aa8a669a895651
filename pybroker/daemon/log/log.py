"""The log: `NODENAME.log`, and if asked for the console and systemd's journal.

Everything in the program logs to the stdlib logger `pybroker`; this module decides where its lines go, and from which
level on. `log_format.py` and `journald.py` say what they look like.
"""

import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pybroker.daemon.log.log_format import FORMATTERS, LineFormatter
from pybroker.daemon.start_error import refused_by_system
from pybroker.log_event import event

if TYPE_CHECKING:
    from pybroker.daemon.config.config import Config

NOTICE: Final = 25
LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": NOTICE,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "none": logging.CRITICAL + 1,
}
# Octets that are read of a file's end at a time, and at most: some ten thousand lines.
TAIL_BLOCK_OCTETS: Final = 65_536
TAIL_OCTETS_MAX: Final = 4_194_304
# Lines that wait for a reader of the control socket.
FOLLOWED_MAX: Final = 10_000
# By which the standard library finds out where a line is logged from.
_SOURCE_FILE: Final = logging._srcfile


class LogFile(logging.FileHandler):
    """A file that others than the daemon's user and group cannot read: names and addresses of clients are in it.

    Each line is a write of its own, past the buffers of `stream`, which cost as much again. Lines that a full disk does
    not take are lost and counted; one of which it took a part is ended before the next one. A pipe is not waited for.
    """

    _torn = b""
    _lost = 0  # lines, and why
    _reason = ""

    def _open(self) -> TextIOWrapper:
        """Open it, or make it; one that is there keeps the mode that somebody gave it."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        file = os.open(self.baseFilename, flags, 0o640)
        self._torn = b"\n" if _is_torn(self.baseFilename) else b""
        return TextIOWrapper(os.fdopen(file, "ab"), encoding=self.encoding, errors=self.errors)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line of a record."""
        try:
            assert self.stream is not None
            octets = self._torn + f"{self.format(record)}\n".encode(errors="backslashreplace")
            while octets:
                octets = octets[os.write(self.stream.fileno(), octets) :]
                self._torn = b"\n" if octets else b""
        except OSError as error:
            self._lost += 1
            self._reason = error.strerror or str(error)
        except Exception:  # noqa: BLE001 - as the standard library does
            self.handleError(record)
        else:
            if self._lost:
                self._tell_of_lost()

    def _tell_of_lost(self) -> None:
        lost, self._lost = self._lost, 0
        text, extra = "%d lines of the log were lost: %s", event("log.lost", lines=lost)
        logger, arguments = logging.getLogger("pybroker"), (lost, self._reason)
        self.emit(logger.makeRecord(logger.name, logging.WARNING, __file__, 0, text, arguments, None, extra=extra))
        if self._lost:
            self._lost += lost - 1


def _is_torn(path: str) -> bool:
    """Tell whether a file's last line has no end: there was no room, or no time, for it."""
    if not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except OSError:  # it is empty, or ours to write only
        return False


class _Follower(logging.Handler):
    """Keeps lines for a reader, FOLLOWED_MAX at most; how many more there were is a line, too. Any thread may log."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: deque[str] = deque()
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line of a record."""
        if len(self._kept) >= FOLLOWED_MAX:
            self._dropped += 1
        else:
            self._kept.append(self.format(record))

    def given(self, most: int) -> list[str]:
        """Return the oldest, and forget them."""
        found = [self._kept.popleft() for _ in range(min(most, len(self._kept)))]
        if self._dropped and not self._kept:
            found.append(f"... {self._dropped} lines dropped because the reader is too slow")
            self._dropped = 0
        return found


class Log:
    """The handlers of the log. `reopen` follows a rotated file."""

    __slots__ = ("_file", "_handlers", "_node_name")

    def __init__(self) -> None:
        # Until there is a file lines go nowhere: stdlib's last resort would put them on standard error.
        logger = logging.getLogger("pybroker")
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
        self._file: logging.FileHandler | None = None
        self._handlers: dict[str, logging.Handler] = {}
        self._node_name = ""

    def open(self, config: "Config") -> None:
        """Write from now on wherever the configuration says.

        Raises:
            StartError: a place cannot be written.

        """
        self._node_name = config.settings.node_name
        if config.log_file is not None:
            self.open_file(config.log_file, config.log_level, config.log_formatter)
        if config.console:
            self.open_console(config.console_level, config.console_formatter, config.console_stdio)
        if config.journald:
            self.open_journald(config.journald_level)

    def reconfigure(self, config: "Config") -> None:
        """Take levels and forms of lines from another configuration; what is open stays open, and nothing joins it."""
        self._set("file", config.log_level, config.log_formatter)
        self._set("console", config.console_level, config.console_formatter)
        self._set("journald", config.journald_level)
        self._set_least()

    def open_file(self, path: Path, level: str, formatter: str = "plaintext") -> None:
        """Append to a file from now on, making its folder if need be.

        Raises:
            StartError: it cannot be opened.

        """
        try:
            path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            handler = LogFile(path, encoding="utf-8")
        except OSError as error:
            raise refused_by_system(f"cannot write the log {path}", error) from None
        self._file = handler
        self._add("file", handler, level, formatter)

    def open_console(self, level: str, formatter: str = "plaintext", stdio: str = "stdout") -> None:
        """Write to standard output or standard error from now on."""
        self._add("console", logging.StreamHandler(sys.stderr if stdio == "stderr" else sys.stdout), level, formatter)

    def open_journald(self, level: str) -> None:
        """Write to systemd's journal from now on.

        Raises:
            StartError: there is none.

        """
        from pybroker.daemon.log.journald import JournaldHandler  # noqa: PLC0415 - memory that few need

        try:
            handler = JournaldHandler(self._node_name)
        except OSError as error:
            raise refused_by_system("cannot log to journald", error) from None
        self._add("journald", handler, level)

    def reopen(self) -> str:
        """Open the file anew by its name, after something moved it away; keep the old one if that fails.

        Return what stood against it, nothing if all went well.
        """
        handler = self._file
        if handler is None:
            return ""
        try:
            stream = handler._open()
        except OSError as error:
            text, extra = "cannot reopen the log: %s; continuing with the old file", event("log.reopen_failed")
            logging.getLogger("pybroker").warning(text, error, extra=extra)
            return f"cannot reopen the log: {error}"
        old = handler.setStream(stream)
        if old is not None:
            old.close()
        return ""

    @contextmanager
    def follow(self) -> Iterator[Callable[[int], list[str]]]:
        """Enter with a function that returns the lines logged since, so many at most at a call."""
        follower = _Follower()
        follower.setFormatter(LineFormatter())
        logger = logging.getLogger("pybroker")
        logger.addHandler(follower)
        try:
            yield follower.given
        finally:
            logger.removeHandler(follower)

    def flush(self) -> None:
        """Send what waits for the journal, as far as that has room. Called about once a second."""
        for handler in self._handlers.values():
            handler.flush()

    def set_level(self, level: str) -> None:
        """Write lines of this level and above from now on, wherever they go."""
        for handler in self._handlers.values():
            handler.setLevel(LEVELS[level])
        self._set_least()

    def tail(self, count: int) -> list[str] | None:
        """Return the last lines of the file, as many as there are in TAIL_OCTETS_MAX; None if there is no file."""
        if self._file is None:
            return None
        octets = b""
        try:
            with Path(self._file.baseFilename).open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                while end and len(octets) < TAIL_OCTETS_MAX and octets.count(b"\n") <= count:
                    start = max(0, end - TAIL_BLOCK_OCTETS)
                    file.seek(start)
                    octets = file.read(end - start) + octets
                    end = start
        except OSError:
            return None
        lines = octets.decode(errors="replace").splitlines()
        return lines[-count:] if count else []

    def close(self) -> None:
        """Write to nowhere from now on."""
        logger = logging.getLogger("pybroker")
        for handler in self._handlers.values():
            logger.removeHandler(handler)
            handler.close()
        self._handlers.clear()
        self._file = None

    def _add(self, place: str, handler: logging.Handler, level: str, formatter: str = "") -> None:
        logging.addLevelName(NOTICE, "NOTICE")
        # A full disk or a closed terminal must cost the line, not the connection that caused it.
        logging.raiseExceptions = False
        self._handlers[place] = handler
        self._set(place, level, formatter)
        logging.getLogger("pybroker").addHandler(handler)
        self._set_least()

    def _set(self, place: str, level: str, formatter: str = "") -> None:
        handler = self._handlers.get(place)
        if handler is not None:
            handler.setLevel(LEVELS[level])
            if formatter:
                handler.setFormatter(FORMATTERS[formatter](self._node_name))

    def _set_least(self) -> None:
        """Have the logger make no record that no handler writes, and collect nothing for one that no handler shows."""
        logging.logThreads = logging.logMultiprocessing = False
        if sys.version_info >= (3, 12):
            logging.logAsyncioTasks = False
        # None is the documented way to say so. To find the place in the source takes longer than all else.
        logging._srcfile = _SOURCE_FILE if "journald" in self._handlers else None
        least = min((each.level for each in self._handlers.values()), default=logging.NOTSET)
        logging.getLogger("pybroker").setLevel(least)
