"""Reading the audit log: entries from the last one back, as commands ask for them."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

_UNITS: Final = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}

# How an entry begins.
_HEAD: Final = b'{"time":"'


class Wanted(NamedTuple):
    """Which entries; None stands for any. `event` is a whole name or what comes before a dot."""

    event: str | None = None
    name: str | None = None
    vhost: str | None = None
    user: str | None = None
    since: str = ""  # as an entry says its time

    def fits(self, entry: dict[str, Any]) -> bool:
        """Tell whether an entry is one of them."""
        event = str(entry.get("event", ""))
        return (
            (self.event is None or event == self.event or event.startswith(f"{self.event}."))
            and (self.name is None or entry.get("name") == self.name)
            and (self.vhost is None or entry.get("vhost") == self.vhost)
            and (self.user is None or entry.get("user") == self.user)
        )


def entries(lines: Iterable[bytes], wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Yield the wanted entries, the last one first, as `lines` are ordered. Skip lines that are no entries."""
    # Most lines of a long log are another's: to look for the name costs a tenth of parsing them.
    mark = b"" if wanted.name is None else json.dumps(wanted.name).encode()
    for line in lines:
        if mark not in line:
            if wanted.since and not _is_since(line, wanted.since):
                return
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if not isinstance(entry, dict):
            continue
        if wanted.since and str(entry.get("time", "")) < wanted.since:
            return
        if wanted.fits(entry):
            yield entry


def _is_since(line: bytes, since: str) -> bool:
    """Tell by a line's beginning, `{"time":"2026-`, whether it is not older; a line without one may be anything."""
    head, _, time = line[: len(_HEAD) + len(since)].partition(_HEAD)
    return bool(head) or len(time) < len(since) or time.decode(errors="replace") >= since


def parse_since(text: str, now_ms: int) -> str:
    """Return `2h`, `15m`, `3d` or a time in ISO 8601 (UTC unless it says otherwise) as an entry would say it.

    Raises:
        ValueError: it is neither.

    """
    ago = re.fullmatch(r"([0-9]{1,6}) *([a-z]+)", text)
    if ago is not None and ago[2] in _UNITS:
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        return (now - timedelta(seconds=int(ago[1]) * _UNITS[ago[2]])).isoformat(timespec="milliseconds")
    when = datetime.fromisoformat(text)
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    return when.isoformat(timespec="milliseconds")


def printable(text: object) -> str:
    """Return a text as a sentence may have it: nothing of it steers a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def detail(entry: dict[str, Any]) -> str:
    """Return an entry's facts as people read them: `durable arguments={"x-max-length": 5} messages=12`."""
    facts = entry.get("facts")
    words = []
    for key, value in facts.items() if isinstance(facts, dict) else ():
        if value is True:
            words.append(key)
        elif value:
            words.append(f"{key}={value if isinstance(value, str | int | float) else json.dumps(value)}")
    return " ".join(words)
