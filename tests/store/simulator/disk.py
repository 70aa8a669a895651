"""SimulatedDisk: the faulty disk with a seam in front of each call, and what a killed process leaves of it."""

from typing import TYPE_CHECKING, Any

from tests.store.faulty_disk import FaultyDisk, File, Power

if TYPE_CHECKING:
    from collections.abc import Callable


class SimulatedPower(Power):
    """`seam` is called with the name and the file of each operation before it is done; `changes` counts."""

    def __init__(self, seam: "Callable[[str, str], None] | None" = None, **more: Any) -> None:
        super().__init__(**more)
        self.seam = seam
        self.top: Any = None  # the folder that has all others


class SimulatedDisk(FaultyDisk):
    """Folders share the seam of their root."""

    def __init__(self, power: "Power | None" = None) -> None:
        super().__init__(power or SimulatedPower())
        if self.power.top is None:
            self.power.top = self
        self.root: Any = None  # its path, for who asks for it

    def below(self, name: str) -> "SimulatedDisk":
        folder = self.folders.setdefault(name, SimulatedDisk(self.power))
        folder.root = self.root / name if self.root is not None else None
        return folder

    @property
    def doubtful(self) -> bool:
        """Tell whether a sync failed, so that what is read may not be what is on disk."""
        return any(file.doubtful for file in self.files.values()) or any(
            each.doubtful for each in self.folders.values()
        )

    def octets(self) -> int:
        """Return what the files in all folders take."""
        mine = sum(len(file.seen) for file in self.files.values())
        return mine + sum(folder.octets() for folder in self.folders.values())

    def free_octets(self) -> int:
        self._operation("free_octets", "", counted=False)
        return max(0, self.power.capacity - self.power.top.octets())

    def _operation(self, name: str, on: str, counted: bool = True) -> None:
        seam = self.power.seam
        if seam is not None:
            seam(name, on)
        super()._operation(name, on, counted)

    def killed(self, power: "Power | None" = None) -> "SimulatedDisk":
        """Return the disk as it is for the next process: all that was written, also what a crash may still take."""
        left = SimulatedDisk(power)
        copies: dict[int, File] = {}

        def copied(file: File | None) -> File | None:
            if file is None:
                return None
            copy = copies.get(id(file))
            if copy is None:
                copy = copies[id(file)] = File.__new__(File)
                copy.seen, copy.durable = bytearray(file.seen), bytearray(file.durable)
                copy.pending, copy.doubtful = list(file.pending), list(file.doubtful)
                copy.dropped = file.dropped
            return copy

        left.files = {name: copied(file) for name, file in self.files.items()}
        left._durable = {name: copied(file) for name, file in self._durable.items()}
        left._pending = [(old, name, copied(file)) for old, name, file in self._pending]
        left.folders = {name: folder.killed(left.power) for name, folder in self.folders.items()}
        return left

    def cut_off(self, rng: Any) -> "SimulatedDisk":
        """Return the disk as a loss of power may leave it."""
        return of_faulty(super().crash(rng))


def of_faulty(disk: FaultyDisk, power: "Power | None" = None) -> SimulatedDisk:
    """Return the same files as a simulated disk."""
    made = SimulatedDisk(power)
    made.files, made._durable, made._pending = disk.files, disk._durable, disk._pending
    made.folders = {name: of_faulty(folder, made.power) for name, folder in disk.folders.items()}
    return made
