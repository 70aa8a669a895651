"""The reserve: room on the disk that the telemetry keeps for itself, so that it goes on while space is short.

A file of no content, made while there is room. In a shortage it loses as much of its length as is written, so that the
telemetry as a whole takes no more of the disk than before, and cannot cause the alarm that it tells of.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pybroker.log_event import event

RESERVE: Final = "reserve"
# A day of the node's own figures, or six hours with those of fifty busy queues.
RESERVE_OCTETS: Final = 8 << 20
# Below so much of what is to stay free only the reserve is written to: this must never cause the alarm it tells of.
DISK_LIMIT_TIMES: Final = 1.5

log = logging.getLogger("pybroker")


class Reserve:
    """Room for shortages. `spare` returns how much the disk has above what is short; below zero it is short.

    `is_short` and `octets` are as of the last look. A shortage is over when there is room for the whole reserve.
    """

    __slots__ = ("_path", "_refused", "_spare", "is_short", "octets", "octets_max")

    def __init__(self, path: Path, spare: Callable[[], int], octets_max: int = RESERVE_OCTETS) -> None:
        self._path = path
        self._spare = spare
        self._refused = False  # the file system did not give it; asked again after the next shortage
        self.octets_max = octets_max
        self.is_short = False
        self.octets = 0

    def open(self) -> None:
        """Learn what an earlier start left of it, and fill it. Raises OSError."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.octets = self._path.stat().st_size if self._path.exists() else 0
        self.measure()

    def measure(self) -> None:
        """Measure; fill it up where there is room. Raises OSError if the disk cannot be measured."""
        spare = self._spare()
        was_short, self.is_short = self.is_short, spare < (self.octets_max if self.is_short else 0)
        self._refused = self._refused and not was_short
        if self.octets < self.octets_max <= spare and not self._refused:
            try:
                self._fill()
            except OSError as error:
                self._refused = True
                extra = event("telemetry.file_failed")
                log.warning(
                    "the telemetry has no reserve for a shortage of disk space: %s", error.strerror, extra=extra
                )

    def release(self, octets: int) -> bool:
        """Give so much of it to the disk, for as much to be written; False if it has less. Raises OSError."""
        if octets > self.octets:
            return False
        self.octets -= octets
        os.truncate(self._path, self.octets)
        return True

    def _fill(self) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, self.octets_max)
        finally:
            os.close(descriptor)
        self.octets = self.octets_max
