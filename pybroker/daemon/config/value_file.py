"""Values that are in files of their own, for passwords: `default_pass = $(</run/secrets/pass)`, as RabbitMQ writes it.

A name without a leading slash is relative to the configuration's folder; one that begins with
`$CREDENTIALS_DIRECTORY/` is a credential of systemd's. The contents are shown nowhere.
"""

import os
import re
from pathlib import Path
from typing import Final

from pybroker.daemon.config.plain_file import read_octets

REFERENCE: Final = re.compile(r"\$\(<\s*(?P<name>[^()]*[^()\s])\s*\)")
# systemd's variable, which names the folder of LoadCredential= (systemd.exec(5)).
VARIABLE: Final = "CREDENTIALS_DIRECTORY"
# No password is longer; a device or a log that is named by mistake is not read to its end.
OCTETS_MAX: Final = 65_536
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class ValueFileError(ValueError):
    """The file of a value cannot be read, or holds no value; the text says so, without what is in it."""


def read(name: str, folder: Path) -> str:
    """Return what is in a file, without the line break at its end. Raises ValueFileError."""
    path = _find(name, folder)
    try:
        octets = read_octets(path, OCTETS_MAX)
    except OSError as error:
        raise ValueFileError(f"cannot read {path}: {error.strerror or error}") from None
    if len(octets) > OCTETS_MAX:
        raise ValueFileError(f"{path} has more than {OCTETS_MAX} octets")
    return _text(octets, path)


def _text(octets: bytes, path: Path) -> str:
    try:
        text = octets.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueFileError(f"{path} is not valid UTF-8") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise ValueFileError(f"{path} is empty")
    if _CONTROL.search(text):
        raise ValueFileError(f"{path} has more than one line, or a control character")
    return text


def _find(name: str, folder: Path) -> Path:
    """Return the file that a name means. Raises ValueFileError."""
    head, slash, rest = name.partition("/")
    if head != f"${VARIABLE}":
        return folder / Path(name)
    credentials = os.environ.get(VARIABLE, "")
    if not credentials or not slash:
        raise ValueFileError(f"there is no {VARIABLE}: set LoadCredential= in the systemd unit")
    return Path(credentials, rest)
