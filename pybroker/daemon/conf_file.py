"""The `key = value` form of the configuration file, as RabbitMQ's `rabbitmq.conf` is written.

Knows lines, comments and quotes; which keys exist and what their values mean is `config.py`'s business. A `#` begins a
comment wherever it stands, unless the value is in single quotes.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from pybroker.daemon.start_error import refused_by_system

_LINE = re.compile(r"(?P<key>[^\s=#]+)\s*=\s*(?:'(?P<quoted>[^']*)'|(?P<plain>[^#]*?))\s*(?:#.*)?")


class Assignment(NamedTuple):
    """One key with its value as it was written, and where (`/etc/pybroker/pybroker.conf:12`, `--port`)."""

    key: str
    value: str
    where: str


def read_conf_file(path: Path) -> tuple[list[Assignment], list[str]]:
    """Return the assignments of a file, in its order, and a sentence per line that is none.

    Raises:
        StartError: the file cannot be read.

    """
    try:
        octets = path.read_bytes()
    except OSError as error:
        raise refused_by_system(f"cannot read the configuration file {path}", error, os.EX_NOINPUT) from None
    return parse_conf(octets, str(path))


def parse_conf(octets: bytes, name: str) -> tuple[list[Assignment], list[str]]:
    """Return the assignments in the octets of the file `name`, and a sentence per line that is none."""
    assignments: dict[str, Assignment] = {}
    problems: list[str] = []
    for number, raw in enumerate(octets.splitlines(), 1):
        where = f"{name}:{number}"
        try:
            line = raw.decode().strip()
        except UnicodeDecodeError:
            problems.append(f"{where}: not valid UTF-8")
            continue
        if not line or line.startswith("#"):
            continue
        if line.startswith(("[", "%")) and not assignments:
            # The rest would be a complaint a line about one mistake.
            return [], [f"{where}: this is RabbitMQ's classic form (Erlang terms); pybroker reads 'key = value' lines"]
        match = _LINE.fullmatch(line)
        if match is None:
            problems.append(f"{where}: expected 'key = value', found {line!r}")
            continue
        key, quoted = match["key"], match["quoted"]
        if key in assignments:
            first = assignments[key].where.rpartition(":")[2]
            problems.append(f"{where}: {key} is already set in line {first}")
            continue
        assignments[key] = Assignment(key, match["plain"] if quoted is None else quoted, where)
    return list(assignments.values()), problems
