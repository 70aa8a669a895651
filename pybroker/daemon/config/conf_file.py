"""The configuration file: `key = value` lines, as RabbitMQ's `rabbitmq.conf` is written, or RabbitMQ's classic form.

Tells the forms apart and knows lines, comments and quotes. `classic_config.py` has the classic form; `config.py` knows
the keys and the meaning of their values. A `#` begins a comment wherever it stands, unless the value is in single
quotes. A value `$(<FILE)` is read from a file (`value_file.py`), unless it is in quotes.
"""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

from pybroker.daemon.config import value_file
from pybroker.daemon.config.plain_file import read_octets
from pybroker.daemon.start_error import StartError, refused_by_system

# Fifty times what a file with every key explained has; a device or a log given by mistake is not read to its end.
FILE_OCTETS_MAX: Final = 1 << 20
# Nobody reads more, and looking for the key that was meant takes its time.
PROBLEMS_MAX: Final = 100

# In the classic form the first line that is neither empty nor begins with # begins so; % is its comment.
_CLASSIC: Final = re.compile(rb"(?:[ \t\r\n\f\v]++|#[^\r\n]*+)*+[\[{%]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LINE: Final = re.compile(r"(?P<key>[^\s=#]+)\s*=\s*(?:'(?P<quoted>[^']*)'\s*|(?P<plain>[^#]*))(?:#.*)?")


class Assignment(NamedTuple):
    """One key with its value as it was written, and where (`/etc/pybroker/pybroker.conf:12`, `--port`).

    A value that is read from a file has the file's name as it was written (`file`), and is never shown.
    """

    key: str
    value: str
    where: str
    file: str = ""

    @property
    def shown(self) -> str:
        """Return the value, or where it is read from."""
        return f"$(<{self.file})" if self.file else self.value


def read_conf_file(path: Path) -> tuple[list[Assignment], list[str]]:
    """Return the assignments of a file, in its order, and a sentence per line that is none.

    Values that are in other files are read.

    Raises:
        StartError: the file cannot be read.

    """
    try:
        octets = read_octets(path, FILE_OCTETS_MAX)
    except OSError as error:
        raise refused_by_system(f"cannot read the configuration file {path}", error, os.EX_NOINPUT) from None
    if len(octets) > FILE_OCTETS_MAX:
        raise StartError(f"the configuration file {path} has more than {FILE_OCTETS_MAX} octets", os.EX_CONFIG)
    assignments, problems = parse_conf(octets, str(path))
    found = []
    for each in assignments:
        try:
            value = value_file.read(each.file, path.parent) if each.file else each.value
            found.append(each._replace(value=value))
        except value_file.ValueFileError as error:
            problems.append(f"{each.where}: {each.key}: {error}")
    return found, problems


def parse_conf(octets: bytes, name: str) -> tuple[list[Assignment], list[str]]:
    """Return the assignments in the octets of the file `name`, in either form, and a sentence for each fault."""
    if _CLASSIC.match(octets):
        from pybroker.daemon.config.classic.classic_config import parse_classic  # noqa: PLC0415 - for those who have such a file

        return parse_classic(octets, name)
    return _parse_lines(octets, name)


def _parse_lines(octets: bytes, name: str) -> tuple[list[Assignment], list[str]]:
    """Return the assignments in `key = value` lines, and a sentence per line that is none."""
    assignments: dict[str, Assignment] = {}
    problems: list[str] = []
    for number, raw in enumerate(octets.splitlines(), 1):
        where = f"{name}:{number}"
        if len(problems) == PROBLEMS_MAX:
            problems.append(f"{where}: too many faults, the rest is not checked")
            break
        try:
            line = raw.decode().strip()
        except UnicodeDecodeError:
            problems.append(f"{where}: not valid UTF-8")
            continue
        if not line or line.startswith("#"):
            continue
        if _CONTROL.search(line):
            problems.append(f"{where}: a control character")
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            # A password must not end up in a terminal's history or a supervisor's log.
            found = "no =" if "pass" in line else repr(line[:80])
            problems.append(f"{where}: expected 'key = value', found {found}")
            continue
        key, quoted = match["key"], match["quoted"]
        if key in assignments:
            first = assignments[key].where.rpartition(":")[2]
            problems.append(f"{where}: {key} is already set in line {first}")
            continue
        # Differs from RabbitMQ: it reads the file of a value in quotes as well, so that no password may look like one.
        if quoted is not None:
            assignments[key] = Assignment(key, quoted, where)
        elif file := value_file.REFERENCE.fullmatch(plain := match["plain"].strip()):
            assignments[key] = Assignment(key, "", where, file["name"])
        else:
            assignments[key] = Assignment(key, plain, where)
    return list(assignments.values()), problems
