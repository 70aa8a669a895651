"""Copy: a backup made beside a running node by the real backup, over folders of the faulty disk."""

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pybroker.store.definitions.definition_recovery import Examined
from pybroker.store.definitions.row_file import State
from pybroker.store.definitions.snapshot import read_snapshots
from pybroker.store.disk import DiskError
from pybroker.store.tools import backup
from pybroker.store.tools.backup import BackupError, Moment
from tests.store.simulator.disk import SimulatedDisk
from tests.store.simulator.inspection import check_ledger, findings, read_all, recovery
from tests.store.simulator.rows import Rows
from tests.store.simulator.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.store.simulator.model import Model
    from tests.store.simulator.node import Node


class FolderPath:
    """A folder or file on a faulty disk, as far as the backup asks a Path."""

    def __init__(self, root: SimulatedDisk, parts: tuple[str, ...] = ()) -> None:
        self._root = root
        self._parts = parts

    def joinpath(self, *parts: str) -> "FolderPath":
        return FolderPath(self._root, self._parts + parts)

    def __truediv__(self, name: str) -> "FolderPath":
        return self.joinpath(*name.split("/"))

    @property
    def name(self) -> str:
        return self._parts[-1]

    @property
    def parent(self) -> "FolderPath":
        return FolderPath(self._root, self._parts[:-1])

    def resolve(self) -> "FolderPath":
        return self

    def is_relative_to(self, other: "FolderPath") -> bool:
        return self._root is other._root

    def disk(self) -> SimulatedDisk:
        disk = self._root
        for part in self._parts:
            disk = disk.folders[part]
        disk.root = self
        return disk

    def is_dir(self) -> bool:
        disk = self._root
        for part in self._parts:
            if part not in disk.folders:
                return False
            disk = disk.folders[part]
        return True

    exists = is_dir

    def rglob(self, _pattern: str) -> tuple[()]:
        return ()

    def is_file(self) -> bool:
        return self.parent.is_dir() and self.name in self.parent.disk().files


class Copy:
    """One backup: `step` goes on with it, True when it is over. Nothing is expected of one that was given up."""

    def __init__(self, node: "Node", model: "Model") -> None:
        self._node = node
        self._model = model
        self._work: Any = None
        self._target = SimulatedDisk()
        self._rows = Rows()
        self.checked = False
        assert node.log is not None
        self._log = node.log
        self.held = self._log.maintenance.hold()
        self._expected = {queue_id: set(model.live(queue_id)) for queue_id in model.queues}

    def step(self) -> bool:
        if self.held is None:
            return True
        commit_position, segments = self.held
        maintenance = self._log.maintenance
        if self._work is None:
            if self._log.failed or self._log.full:
                self.release()
                return True
            written = maintenance.is_held(commit_position)
            if written is None:
                self.release()  # the disk was full: the operator tries again
                return True
            if not written:
                return False
            moment = Moment("node", commit_position, tuple(segments))
            self._work = backup.create(FolderPath(self._node.disk), FolderPath(self._target, ("copy",)), moment, 0)
        with self._simulated():
            try:
                next(self._work)
            except StopIteration:
                self._check()
            except (BackupError, DiskError) as error:
                raise Violation("backup", str(error)) from error
            else:
                return False
        self.release()
        return True

    def give_up(self) -> None:
        """Take back what was copied."""
        if self._work is not None:
            with self._simulated():
                self._work.close()

    def release(self) -> None:
        """Let the log go."""
        if self.held is not None:
            commit_position, _ = self.held
            self.held = None
            self._log.maintenance.release(commit_position)

    @contextmanager
    def _simulated(self) -> "Iterator[None]":
        """Have the backup find the simulated disks and rows."""

        def examined(_path: Any) -> Examined:
            self._rows = self._node.rows.durable
            return Examined(dict(sorted(self._rows.rows.items())), self._rows.state, [])

        def opened(_disk: Any) -> Any:
            return SimpleNamespace(file=SimpleNamespace(close=lambda: None))

        # It is another process: what the node meets is not its business.
        power = self._node.disk.power
        seam, power.seam = power.seam, None
        self._node.fault.look_away()
        changes = {"Disk": FolderPath.disk, "examine": examined, "open_definitions": opened}
        before = {name: getattr(backup, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(backup, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(backup, name, value)
            power.seam = seam
            self._node.fault.watch()

    def _check(self) -> None:
        """Restore what was copied, start on it, and compare with what lived when it was held."""
        data = SimulatedDisk()
        for _ in backup.restore(FolderPath(self._target, ("copy",)), FolderPath(data)):
            pass
        snapshots, faults = read_snapshots(data)
        if faults or not snapshots:
            raise Violation("backup", f"its definitions cannot be read: {faults}")
        rows = snapshots[0].rows()
        found_rows = Rows(State(snapshots[0].changes), rows)
        expected_rows = {key: row.value for key, row in self._rows.rows.items()}
        if {key: row.value for key, row in rows.items()} != expected_rows:
            raise Violation("backup", "it has other definitions than the node had")
        recovered = recovery(data, expected_rows).run()
        found = findings(found_rows, recovered)
        if recovered.reports:
            raise Violation("backup", "; ".join(recovered.reports))
        self.checked = True
        for queue_id in found.ids:
            there, expected = set(found.seqs.get(queue_id, ())), self._expected.get(queue_id, set())
            if there != expected:
                missing, more = sorted(expected - there)[:5], sorted(there - expected)[:5]
                raise Violation("backup", f"queue {queue_id}: {missing} are missing, {more} too many")
        check_ledger(found)
        read_all(self._model, data, found)
