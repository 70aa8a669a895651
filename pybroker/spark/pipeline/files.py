"""The daemon's files: which there are of a table, and which were not read yet. Needs no Spark.

A file is known by its name and size: one that grew since it was read is read again.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

from pybroker.spark.pipeline.schemas import RAW

SUFFIX: Final = ".ndjson"
OPEN: Final = ".open"


class Files(NamedTuple):
    """Files of a table: those that are complete and were not read yet, and those still written to."""

    closed: list[Path]
    open: list[Path]

    @property
    def paths(self) -> list[Path]:
        """Return all of them."""
        return [*self.closed, *self.open]

    @property
    def dates(self) -> set[date]:
        """Return the dates that they are of."""
        return {date.fromisoformat(path.name[:8]) for path in self.paths}

    @property
    def octets(self) -> int:
        """Return their size; files that are gone meanwhile count as nothing."""
        return sum(path.stat().st_size for path in self.paths if path.exists())


def find(journal: Path, table: str, known: Mapping[str, int]) -> Files:
    """Return what there is to be read of a table."""
    closed, still_open = [], []
    for path in sorted((journal / table).glob(f"*{SUFFIX}*")):
        try:
            date.fromisoformat(path.name[:8])
            octets = path.stat().st_size
        except (ValueError, FileNotFoundError):
            continue
        if path.name.endswith(SUFFIX + OPEN):
            still_open.append(path)
        elif path.name.endswith(SUFFIX) and known.get(path.name) != octets:
            closed.append(path)
    return Files(closed, still_open)


def octets_waiting(journal: Path, state: Mapping[str, Any]) -> int:
    """Return how many octets of all tables are to be read; `state` is the warehouse's."""
    known = state.get("files", {})
    return sum(find(journal, table, known.get(table, {})).octets for table in RAW)
