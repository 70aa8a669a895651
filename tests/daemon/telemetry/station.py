"""A broker with its telemetry, and what that wrote."""

import json
import time

from pybroker.daemon.telemetry import telemetry
from pybroker.daemon.telemetry.telemetry import FOLDER, Telemetry
from tests.fakes import World
from tests.waiting import wait_until


class Station:
    """A broker and its telemetry; `rows` reads what was written, after the end.

    `meanwhile` is called whenever a look lets others go on, at the end of a slice.
    """

    def __init__(self, folder):
        self.folder = folder
        self.world = World()
        self.broker = self.world.broker
        self.meanwhile = lambda: None
        self.telemetry = Telemetry(self.broker, folder, 10_000, 7, self._pause)

    def _pause(self, _seconds):
        self.meanwhile()

    def rows(self, table):
        self.telemetry._writer.stop()
        found = []
        for path in sorted((self.folder / FOLDER / table).glob("*.ndjson")):
            found += [json.loads(line) for line in path.read_text().splitlines()]
        return found

    def set_free(self, monkeypatch, octets):
        """Have the writer's thread find so much of the disk free, and wait until it has; that leaves an empty row."""
        wait_until(lambda: not self.telemetry._writer.rows_waiting)  # there was room at the start
        monkeypatch.setattr(telemetry, "free_octets", lambda _: octets)
        self.telemetry._write("looks", [{}], brief=True)
        self.wait()

    def wait(self):
        """Wait until the thread has done what it was given."""
        wait_until(self.telemetry._writer._jobs.empty)
        time.sleep(0.005)  # the last one is under way
