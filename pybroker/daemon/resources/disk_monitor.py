"""The disk monitor: compares free space on the data folder's partition with the limit, and sets the alarm.

The nearer the limit, the more often it is looked. A disk on which the log could not be written is short whatever
its figures say, until it can be written again.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import psutil

from pybroker.core.resources.alarm import DISK
from pybroker.daemon.resources.watch import Watch
from pybroker.humanize import size
from pybroker.log_event import event

if TYPE_CHECKING:
    from pathlib import Path

    from pybroker.core.broker import Broker

# RabbitMQ's figures (rabbit_disk_monitor.erl): how fast a disk fills at most, and how often it is looked at.
RATE_OCTETS_PER_MS: Final = 250_000
PAUSE_MS_MIN: Final = 100
PAUSE_MS_MAX: Final = 10_000
# How often it is tried to measure a disk that cannot be measured.
RETRIES: Final = 10
RETRY_MS: Final = 120_000

log = logging.getLogger("pybroker")


def free_octets(folder: "Path") -> int:
    """Return what is free for us on the partition that a folder lies on now. Raises OSError."""
    octets: int = psutil.disk_usage(str(folder)).free
    return octets


class DiskMonitor(Watch):
    """The monitor of the disk. Keeps its measurements in `watermarks.measured`.

    `retries` is the number of attempts left while the disk cannot be measured.
    """

    __slots__ = ("_folder", "_free_octets", "_full", "_low", "enabled", "retries", "watching")

    WHAT = "disk"

    def __init__(self, broker: "Broker", folder: "Path", free: Callable[["Path"], int] = free_octets) -> None:
        super().__init__(broker)
        self._folder = folder
        self._free_octets = free
        self._full = ""  # why the log cannot be written
        self._low = ""  # how far what is free falls short of the limit
        self.enabled = True
        self.watching = False  # the last look told something
        self.retries = RETRIES

    @property
    def pause_ms(self) -> int:
        """Return when to look again: soon where the limit is near, on either side of it."""
        if not self.watching:
            return RETRY_MS if self.enabled else PAUSE_MS_MAX
        marks = self._broker.settings.watermarks
        # Differs from RabbitMQ: while the alarm is set it looks every ten seconds, for its look costs a process.
        distance = abs((marks.measured.disk_free or 0) - marks.disk_limit_octets)
        return min(PAUSE_MS_MAX, max(PAUSE_MS_MIN, 2 * distance // RATE_OCTETS_PER_MS))

    def check(self) -> None:
        """Measure, and set or clear the alarm."""
        if self.enabled:
            try:
                self._measured(self._free_octets(self._folder))
            except OSError as error:
                self._failed(str(error))
            except AttributeError:
                self._give_up()  # this operating system has no such call
        self._judge()
        self.looked()

    def full(self, text: str) -> None:
        """Learn that the log cannot be written for want of room, and why; or that it can again, with no text."""
        # Differs from RabbitMQ: it looks at the figures alone, and ends when it cannot write.
        if text == self._full:
            return  # the journal says so whenever it finds that there is room
        self._full = text
        self.check()

    def enable(self) -> None:
        """Watch the disk again."""
        self.enabled, self.retries = True, RETRIES
        self.check()
        log.info("Free disk space monitor was enabled", extra=event("disk.monitor.enabled"))

    def disable(self) -> None:
        """Watch it no longer; an alarm that nobody would clear is cleared."""
        # Differs from RabbitMQ: its alarm stays, and publishers blocked.
        self._stop()
        log.info("Free disk space monitor was manually disabled", extra=event("disk.monitor.disabled"))
        self.check()

    def _measured(self, free: int) -> None:
        marks = self._broker.settings.watermarks
        if not self.watching:
            self.watching = True
            self.retries = RETRIES
            log.info(
                "Enabling free disk space monitoring (disk free space: %d, total memory: %d)",
                free,
                marks.total.octets,
                extra=event("disk.monitor.enabled"),
            )
        marks.measured.disk_free = free
        limit, was_low = marks.disk_limit_octets, self._low
        self._low = f"{size(free)} free, {size(limit)} required" if free < limit else ""
        if bool(self._low) != bool(was_low):
            what = "insufficient" if self._low else "sufficient"
            extra = event("disk.low" if self._low else "disk.normal")
            log.info("Free disk space is %s. Free bytes: %d. Limit: %d", what, free, limit, extra=extra)

    def _failed(self, error: str) -> None:
        """Try again in a while, some times; the last measurement stands until then."""
        log.error(
            "Free disk space monitor encountered an error (e.g. failed to parse output from OS tools). "
            "Retries left: %d Error: %s",
            self.retries,
            error,
            extra=event("disk.monitor.failed"),
        )
        self.watching = False
        self._broker.settings.watermarks.measured.disk_free = None
        if not self.retries:
            log.error("Free disk space monitor failed to start!", extra=event("disk.monitor.failed"))
            self._give_up()
        self.retries -= 1

    def _give_up(self) -> None:
        log.warning("Disabling disk free space monitoring", extra=event("disk.monitor.disabled"))
        self._stop()

    def _stop(self) -> None:
        self.enabled = self.watching = False
        self._low = ""
        self._broker.settings.watermarks.measured.disk_free = None

    def _judge(self) -> None:
        """Set or clear the alarm: it is on while either reason holds."""
        why = self._full or self._low
        if why:
            self._broker.alarms.set(DISK, why)
        else:
            self._broker.alarms.clear(DISK)
