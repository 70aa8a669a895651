"""The forms of a line of the log: RabbitMQ's plain text, and JSON. Texts of clients cannot break a line or fill a disk.

Arguments and fields are capped, and nothing unprintable gets out. A plain line has an Erlang process as its third word
in RabbitMQ and the process id in the same form here, so that tools which split RabbitMQ's lines split ours. It has no
room for the event's id and fields: JSON has them.
"""

import json
import logging
import os
import time
from collections.abc import Mapping
from typing import Final

from pybroker.log_event import Event

ARGUMENT_CHARACTERS_MAX: Final = 256
LINE_CHARACTERS_MAX: Final = 4_096
NO_EVENT: Final = Event("")
_ENCODE: Final = json.JSONEncoder(default=str).encode


def quoted(text: str, characters_max: int) -> str:
    """Return the text on one line: unprintable characters escaped as in Python, the rest beyond the limit cut off."""
    if len(text) > characters_max:
        text = text[:characters_max] + "..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def event_of(record: logging.LogRecord) -> Event:
    """Return what a record is about; of a library's, nothing."""
    found = getattr(record, "event", None)
    return found if isinstance(found, Event) else NO_EVENT


def message_of(record: logging.LogRecord) -> str:
    """Return the record's text with each argument capped, so that one long name leaves the rest readable."""
    args = record.args
    if not args:
        return str(record.msg)
    if isinstance(args, Mapping):
        return str(record.msg) % {key: capped(value) for key, value in args.items()}
    return str(record.msg) % tuple(capped(value) for value in args)


def capped(value: object) -> object:
    """Return a value of a client's, cut off if it is a long text."""
    # Not escaped here: the whole text will be, and %r would escape what is escaped already.
    if isinstance(value, str) and len(value) > ARGUMENT_CHARACTERS_MAX:
        return value[:ARGUMENT_CHARACTERS_MAX] + "..."
    return value


class LineFormatter(logging.Formatter):
    """One record is one line; a traceback of ours follows on lines of its own, indented."""

    def __init__(self, node_name: str = "") -> None:
        super().__init__()
        self.node_name = node_name
        self._pid = f"<0.{os.getpid()}.0>"
        self._second = 0
        self._stamp = ("", "")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without its end."""
        head = f"{self._time(record.created)} [{record.levelname.lower()}] {self._pid} "
        line = head + quoted(message_of(record), LINE_CHARACTERS_MAX)
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


class JsonFormatter(LineFormatter):
    """One record is one JSON object on a line, with RabbitMQ's keys; a traceback of ours is in `trace`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without its end."""
        about = event_of(record)
        line: dict[str, object] = {
            "time": self._time(record.created),
            "level": record.levelname.lower(),
            "msg": "\n".join((message_of(record)[:LINE_CHARACTERS_MAX], *about.more)),
            "pid": self._pid,
            "node": self.node_name,
            "event": about.id,
        }
        for name, value in about.all_fields().items():
            line.setdefault(name, capped(value))
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _ENCODE(line)


# By the values of log.file.formatter and log.console.formatter, which are RabbitMQ's.
FORMATTERS: Final = {"plaintext": LineFormatter, "json": JsonFormatter}
