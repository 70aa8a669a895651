"""The daemon's files: which there are of a table, and what of them was not read yet. Needs no Spark.

A file is known by its folder, its name and how many of its octets were read; one that is shorter than that is another
one.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from pybroker.spark.pipeline.schemas import RAW, SAMPLES_KEPT

SUFFIX: Final = ".ndjson"
OPEN: Final = ".open"
BLOCK_OCTETS: Final = 1 << 16
# In the warehouse's state: the octets read, by telemetry folder, table and name; and what older versions have instead,
# of the one folder that they knew.
READ: Final = "read"
READ_BEFORE: Final = "files"


class Part(NamedTuple):
    """Lines of a file that were not read yet: they begin in this range of octets."""

    path: Path
    start: int
    end: int

    @property
    def name(self) -> str:
        """Return the name that the file has when it is closed."""
        return self.path.name.removesuffix(OPEN)

    @property
    def day(self) -> date:
        """Return the date that it is of."""
        return date.fromisoformat(self.name[:8])


class Files(NamedTuple):
    """The parts of files that are to be read of a table."""

    parts: list[Part]

    @property
    def paths(self) -> list[Path]:
        """Return the files."""
        return [part.path for part in self.parts]

    @property
    def dates(self) -> set[date]:
        """Return the dates that they are of."""
        return {part.day for part in self.parts}

    @property
    def octets(self) -> int:
        """Return how much is to be read."""
        return sum(part.end - part.start for part in self.parts)


def find(journal: Path, table: str, known: Mapping[str, int]) -> Files:
    """Return what there is to be read of a table; of a file that is still written to, its whole lines."""
    found = []
    for path in sorted((journal / table).glob(f"*{SUFFIX}*")):
        name = path.name.removesuffix(OPEN)
        try:
            date.fromisoformat(name[:8])
            octets = path.stat().st_size
            start = known.get(name, 0)
            if name.endswith(SUFFIX) and octets != start:
                start = start if start < octets else 0
                end = octets if path.name == name else whole_lines(path, start, octets)
                found.append(Part(path, start, end))
        except (ValueError, FileNotFoundError):
            continue
    return Files([part for part in found if part.start < part.end])


def whole_lines(path: Path, start: int, end: int) -> int:
    """Return where the last line ends that does; `start` if none does between these octets."""
    with path.open("rb") as file:
        while end > start:
            begin = max(start, end - BLOCK_OCTETS)
            file.seek(begin)
            cut = file.read(end - begin).rfind(b"\n")
            if cut >= 0:
                return begin + cut + 1
            end = begin
    return start


def waiting(journal: Path, state: Mapping[str, Any]) -> dict[str, Files]:
    """Return what is to be read of each table; `state` is the warehouse's."""
    known = _read(state, journal)
    return {table: find(journal, table, known.get(table, {})) for table in RAW}


def octets_waiting(journal: Path, state: Mapping[str, Any]) -> int:
    """Return how many octets of all tables are to be read."""
    return sum(files.octets for files in waiting(journal, state).values())


def note(state: dict[str, Any], journal: Path, table: str, files: Files) -> None:
    """Note in the warehouse's state that files of a table were read; forget those that are gone."""
    tables = _read(state, journal)
    state.pop(READ_BEFORE, None)
    there = {path.name.removesuffix(OPEN) for path in (journal / table).glob(f"*{SUFFIX}*")}
    kept = {name: octets for name, octets in tables.get(table, {}).items() if name in there}
    folders = {
        **state.get(READ, {}),
        str(journal): {**tables, table: kept | {part.name: part.end for part in files.parts}},
    }
    # A folder that is not read any more; if it is after all, rows are in but once.
    oldest = max(files.dates) - timedelta(days=SAMPLES_KEPT)
    state[READ] = {folder: known for folder, known in folders.items() if _newest(known) >= f"{oldest:%Y%m%d}"}


def _read(state: Mapping[str, Any], journal: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = state.get(READ, {}).get(str(journal), state.get(READ_BEFORE, {}))
    return found


def _newest(known: Mapping[str, Mapping[str, int]]) -> str:
    return max((name for names in known.values() for name in names), default="")
