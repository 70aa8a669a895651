"""The log: `NODENAME.log` and, if asked for, the console, in RabbitMQ's form of a line.

Everything in the program logs to the stdlib logger `pybroker`; this module decides where its lines go and what they
look like: `2024-05-01 12:00:00.123456+00:00 [info] <0.4711.0> text`. The third field is an Erlang process in RabbitMQ
and the process id in the same form here, so that tools which split RabbitMQ's lines split ours. Texts of a client
cannot break a line, colour a terminal or fill the disk: arguments are capped, and nothing unprintable gets out.
"""

import json
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from pybroker.daemon.start_error import refused_by_system
from pybroker.log_event import Event, event

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
ARGUMENT_CHARACTERS_MAX: Final = 256
LINE_CHARACTERS_MAX: Final = 4_096
# Octets that are read of a file's end at a time, and at most: some ten thousand lines.
TAIL_BLOCK_OCTETS: Final = 65_536
TAIL_OCTETS_MAX: Final = 4_194_304
# Lines that wait for a reader of the control socket.
FOLLOWED_MAX: Final = 10_000
NO_EVENT: Final = Event("")


def quoted(text: str, characters_max: int) -> str:
    """Return the text on one line: unprintable characters escaped as in Python, the rest beyond the limit cut off."""
    if len(text) > characters_max:
        text = text[:characters_max] + "..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class LineFormatter(logging.Formatter):
    """One record is one line; a traceback of ours follows on lines of its own, indented."""

    def __init__(self) -> None:
        super().__init__()
        self._pid = f"<0.{os.getpid()}.0>"
        self._second = 0
        self._stamp = ("", "")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without its end."""
        head = f"{self._time(record.created)} [{record.levelname.lower()}] {self._pid} "
        line = head + quoted(_message(record), LINE_CHARACTERS_MAX)
        # As in RabbitMQ, what an event has more to say begins as its first line does.
        line += "".join(f"\n{head}{quoted(part, LINE_CHARACTERS_MAX)}" for part in event_of(record).more)
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            line += "".join(f"\n  {quoted(part, LINE_CHARACTERS_MAX)}" for part in trace.splitlines())
        return line

    def _time(self, created: float) -> str:
        second = int(created)
        if second != self._second:
            local = time.localtime(second)
            zone = time.strftime("%z", local)
            self._stamp = time.strftime("%Y-%m-%d %H:%M:%S", local), f"{zone[:3]}:{zone[3:]}"
            self._second = second
        day, zone = self._stamp
        return f"{day}.{int((created - second) * 1_000_000):06d}{zone}"


def event_of(record: logging.LogRecord) -> Event:
    """Return what a record is about; of a library's, nothing."""
    found = getattr(record, "event", None)
    return found if isinstance(found, Event) else NO_EVENT


def _message(record: logging.LogRecord) -> str:
    """Return the record's text with each argument capped, so that one long name leaves the rest readable."""
    args = record.args
    if not args:
        return str(record.msg)
    if isinstance(args, Mapping):
        return str(record.msg) % {key: _capped(value) for key, value in args.items()}
    return str(record.msg) % tuple(_capped(value) for value in args)


def _capped(value: object) -> object:
    # Not escaped here: the whole text will be, and %r would escape what is escaped already.
    if isinstance(value, str) and len(value) > ARGUMENT_CHARACTERS_MAX:
        return value[:ARGUMENT_CHARACTERS_MAX] + "..."
    return value


class LogFile(logging.FileHandler):
    """A file that others than the daemon's user and group cannot read: names and addresses of clients are in it."""

    def _open(self) -> TextIOWrapper:
        """Open it, or make it; one that is there keeps the mode that somebody gave it."""
        file = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        return TextIOWrapper(os.fdopen(file, "ab"), encoding=self.encoding, errors=self.errors)


class JsonFormatter(LineFormatter):
    """One record is one JSON object on a line, with RabbitMQ's keys; a traceback of ours is in `trace`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without its end."""
        about = event_of(record)
        line: dict[str, object] = {
            "time": self._time(record.created),
            "level": record.levelname.lower(),
            "msg": "\n".join((_message(record)[:LINE_CHARACTERS_MAX], *about.more)),
            "pid": self._pid,
            "event": about.id,
        }
        for name, value in about.all_fields().items():
            line.setdefault(name, _capped(value))
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


# By the values of log.file.formatter and log.console.formatter, which are RabbitMQ's.
FORMATTERS: Final = {"plaintext": LineFormatter, "json": JsonFormatter}


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
            found.append(f"... {self._dropped} lines dropped because the log is too slow")
            self._dropped = 0
        return found


class Log:
    """The handlers of the log. `reopen` follows a rotated file."""

    __slots__ = ("_file", "_handlers")

    def __init__(self) -> None:
        # Until there is a file lines go nowhere: stdlib's last resort would put them on standard error.
        logger = logging.getLogger("pybroker")
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
        self._file: logging.FileHandler | None = None
        self._handlers: list[logging.Handler] = []

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
        self._add(handler, level, formatter)

    def open_console(self, level: str, formatter: str = "plaintext") -> None:
        """Write to standard output from now on."""
        self._add(logging.StreamHandler(sys.stdout), level, formatter)

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

    def set_level(self, level: str) -> None:
        """Write lines of this level and above from now on, wherever they go."""
        for handler in self._handlers:
            handler.setLevel(LEVELS[level])
        logging.getLogger("pybroker").setLevel(LEVELS[level])

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
        for handler in self._handlers:
            logger.removeHandler(handler)
            handler.close()
        self._handlers.clear()
        self._file = None

    def _add(self, handler: logging.Handler, level: str, formatter: str) -> None:
        logging.addLevelName(NOTICE, "NOTICE")
        # A full disk or a closed terminal must cost the line, not the connection that caused it.
        logging.raiseExceptions = False
        handler.setFormatter(FORMATTERS[formatter]())
        handler.setLevel(LEVELS[level])
        logger = logging.getLogger("pybroker")
        logger.addHandler(handler)
        self._handlers.append(handler)
        logger.setLevel(min(each.level for each in self._handlers))
