"""A data folder with definitions in it, and a store over it whose worker runs when the test says so."""

from pathlib import Path

from pybroker.store.definitions.definition_recovery import Opened, open_definitions
from pybroker.store.definitions.definition_store import DefinitionStore
from pybroker.store.definitions.definitions import KINDS
from pybroker.store.disk import Disk
from tests.clock import FakeClock
from tests.inline_worker import InlineWorker

# One row of every kind, with names that a quoting mistake would show on.
SAMPLE = {
    (kind, tuple(f"{column} ä\"'\\\n" for column in columns)): {"id": 7, "value": ["ü", {"x": None}], "on": True}
    for kind, (columns, _) in KINDS.items()
}


def changed_row(number: int) -> tuple[str, tuple[str, str], dict[str, int]]:
    return "queue", ("/", f"q{number}"), {"id": number}


class Folder:
    """`store` is the one opened last; what it told is in `completed`, `troubles` and `failures`."""

    def __init__(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        self.path = path
        self.clock = FakeClock()
        self.worker = InlineWorker()
        self.opened: Opened
        self.store: DefinitionStore
        self.completed: list[int] = []
        self.troubles: list[str] = []
        self.failures: list[str] = []

    def open(self) -> DefinitionStore:
        disk = Disk(self.path)
        self.opened = open_definitions(disk)
        self.worker = InlineWorker()
        self.store = store = DefinitionStore(self.opened, disk, self.worker, self.clock)
        store.on_completed = self.completed.append
        store.on_trouble = self.troubles.append
        store.on_failed = self.failures.append
        return store

    @property
    def rows(self) -> dict:
        """Return what was found when the folder was opened."""
        return {(kind, key): value for kind, rows in self.opened.rows.items() for key, value in rows.items()}

    def fill(self, rows: dict) -> None:
        """Open the folder, put rows into it, and run what this brings about, but no snapshot."""
        store = self.open()
        for (kind, key), value in rows.items():
            store.put(kind, key, value)
        self.worker.run()

    def snapshot(self) -> None:
        """Let the time pass that a snapshot waits for."""
        for _ in range(2):
            self.clock.advance(60_000)
            self.store.tick()
            self.worker.run()

    def stop(self) -> None:
        stopped = []
        self.store.stop(lambda: stopped.append(True))
        self.worker.run()
        assert [True] == stopped

    def kill(self) -> None:
        """Leave the files as a killed process would: the WAL stays, and no snapshot is made."""
        files = {path: path.read_bytes() for path in self.path.iterdir() if not path.name.endswith("-shm")}
        self.opened.file.close()
        for path in self.path.iterdir():
            path.unlink()
        for path, octets in files.items():
            path.write_bytes(octets)
