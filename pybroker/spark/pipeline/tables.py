"""The warehouse: a folder of tables, each a folder of dates, each a few Parquet files; and what is known of them.

    <table>/date=YYYY-MM-DD/*.parquet     any tool may read these
    _reports/<report>.json                what `pybrokerctl report` shows
    _bad/<table>/<journal file>           lines that are none
    _state.json                           which journal files are in, when each date was made, how the last runs went
    .staging/                             what is not finished

A date is replaced whole (`replacement`): a reader meanwhile has the old files or the new ones. One process at a time
has the warehouse (`lock`). Knows no Spark.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pybroker.spark.disk import write_file
from pybroker.spark.pipeline.failure import RUNNING, FailureError
from pybroker.spark.pipeline.replacement import PARTITION, Replacement, stage
from pybroker.spark.pipeline.schemas import RAW, TABLES, Table

STATE: Final = "_state.json"
LOCK: Final = "_lock"
FOLLOWED: Final = "_followed"
LOGS: Final = "_log"
# Of Spark's, below LOGS.
SCRATCH: Final = "scratch"
REPORTS: Final = "_reports"
BAD: Final = "_bad"
STAGING: Final = ".staging"
BAD_DAYS: Final = 30
# The table that is made of another one, date by date.
MADE_OF: Final = {
    "queue_sample": "queue_1m",
    "connection_sample": "connection_1m",
    "node_sample": "node_1m",
    "queue_1m": "queue_1h",
}


class Warehouse:
    """A folder; made when something is written to it. `now` is when this run began."""

    def __init__(self, folder: Path, now: datetime | None = None) -> None:
        self.folder = folder
        self.now = datetime.now(UTC) if now is None else now

    # -- tables -------------------------------------------------------------------------------------------------------

    def dates(self, table: str) -> list[date]:
        """Return the dates there are of a table, ascending."""
        found = []
        for path in (self.folder / table).glob(f"{PARTITION}*"):
            with contextlib.suppress(ValueError):
                found.append(date.fromisoformat(path.name.removeprefix(PARTITION)))
        return sorted(found)

    def change(self, table: Table, make: "Callable[[Path, str], Mapping[date, datetime]]") -> None:
        """Replace dates of a table: `make` has them made in a folder, with a number that its files have.

        It returns from when on each of them has other rows; those without any go.
        """
        self.finish()
        staging = self.folder / STAGING / f"{table.name}.{os.getpid()}"
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        since = make(staging, str(_next_stamp(self.state(), self.now)))
        if since:
            self._replace(table.name, staging, since, {str(day): _ms(when) for day, when in since.items()})
        shutil.rmtree(staging, ignore_errors=True)

    def _replace(
        self, table: str, staging: Path, dates: Iterable[date], since: Mapping[str, int] | None = None
    ) -> None:
        """Replace dates by those in the staging folder; `since` says from when on they have other rows."""
        days = [str(day) for day in sorted(set(dates))]
        state = self.state()
        replacement = stage(table, staging, days, _next_stamp(state, self.now))
        state["replacing"] = {**replacement._asdict(), "since": _changed(state, table, days, since or {})}
        self.write_json(STATE, state)
        self._place(state)

    def _place(self, state: dict[str, Any]) -> None:
        """Do what was decided, and note that it is done."""
        replacement = Replacement.of_state(state["replacing"])
        table = self.folder / replacement.table
        table.mkdir(parents=True, exist_ok=True)
        replacement.place(table, self.folder / STAGING)
        made = state.setdefault("made", {}).setdefault(replacement.table, {})
        since = state["replacing"].get("since", {})
        made |= dict.fromkeys((*replacement.files, *since), replacement.stamp)
        state.setdefault("since", {}).setdefault(replacement.table, {}).update(since)
        del state["replacing"]
        self.write_json(STATE, state)

    def stamp(self, table: str, day: date) -> int:
        """Return when a date of a table was made, 0 if there is none: milliseconds, see `_next_stamp`."""
        return int(self.state().get("made", {}).get(table, {}).get(str(day), 0))

    def since(self, table: str, day: date) -> datetime:
        """Return from when on a date has other rows than what was made of it."""
        ms = self.state().get("since", {}).get(table, {}).get(str(day), 0)
        return max(datetime.fromtimestamp(ms / 1000, UTC), datetime(day.year, day.month, day.day, tzinfo=UTC))

    def partition(self, table: str, day: date) -> Path:
        """Return the folder of a date."""
        return self.folder / table / f"{PARTITION}{day}"

    # -- what is known of them ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what is known. Raises FailureError when it cannot be read."""
        path = self.folder / STATE
        if not path.exists():
            return {}
        try:
            state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise FailureError(
                f"{path} is damaged: {error}; if it is removed, all telemetry files are read again"
            ) from None
        return state

    def note(self, kind: str, name: str, value: Any) -> None:
        """Keep something under a kind and a name: `made` a table, `jobs` a run, `files` of a table."""
        state = self.state()
        state.setdefault(kind, {})[name] = value
        self.write_json(STATE, state)

    def write_report(self, name: str, document: dict[str, Any]) -> None:
        """Replace a report."""
        self.write_json(f"{REPORTS}/{name}.json", document)

    def write_json(self, name: str, value: Any) -> None:
        """Replace a file, whole."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        write_file(path, text.encode())

    def add_bad(self, table: str, lines: Iterable[tuple[str, str]]) -> int:
        """Keep lines of journal files that are no rows, a file for each of these; return how many they are."""
        by_file: dict[str, list[str]] = {}
        for file, line in lines:
            by_file.setdefault(file, []).append(line)
        for file, found in by_file.items():
            path = self.folder / BAD / table / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in sorted(found)), encoding="utf-8")
        return sum(map(len, by_file.values()))

    # -- who may, and for how long ------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self, name: str = LOCK) -> Iterator[None]:
        """Have the warehouse for ourselves, or with FOLLOWED be the one that follows into it, beside runs of others.

        Raises FailureError when somebody has it.
        """
        try:
            self.folder.mkdir(mode=0o750, parents=True, exist_ok=True)
            file = (self.folder / name).open("a+", encoding="ascii")
        except OSError as error:
            raise FailureError(f"{error.filename}: {error.strerror}") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                who = file.read().strip() or "another process"
                raise FailureError(f"the pipeline already runs on {self.folder}: {who}", RUNNING) from None
            file.truncate(0)
            file.write(f"process {os.getpid()}\n")
            file.flush()
            yield

    def expire(self) -> dict[str, int]:
        """Remove dates older than their table keeps them; return how many of each."""
        today, gone = self.now.date(), {}
        for table in TABLES.values():
            oldest = today - timedelta(days=table.days_kept)
            old = [day for day in self.dates(table.name) if day < oldest]
            for day in old:
                self._discard(self.partition(table.name, day))
            if old:
                gone[table.name] = len(old)
            self._forget(table.name, str(oldest))
        return gone

    def _forget(self, table: str, oldest: str) -> None:
        """Forget what is noted of older dates of a table: also of those that a run removed that was killed then."""
        for kind in ("made", "since"):
            known = self.state().get(kind, {}).get(table, {})
            left = {day: ms for day, ms in known.items() if day >= oldest}
            if left != known:
                self.note(kind, table, left)

    def _discard(self, folder: Path) -> None:
        """Remove a folder that readers see: it is there whole, or not at all."""
        gone = self.folder / STAGING / f"{folder.parent.name}.{folder.name}.gone"
        gone.parent.mkdir(exist_ok=True)
        shutil.rmtree(gone, ignore_errors=True)
        folder.rename(gone)
        shutil.rmtree(gone)

    def finish(self) -> bool:
        """Go on with what a run that was killed had decided; tell whether there was any."""
        state = self.state()
        if "replacing" not in state:
            return False
        self._place(state)
        return True

    def sweep(self) -> dict[str, int]:
        """Remove what a run that was killed left behind, and bad lines that nobody looked at; return how many.

        Dates that had been decided are placed first.
        """
        self.finish()
        left = [*(self.folder / STAGING).glob("*"), *(self.folder / LOGS / SCRATCH).glob("*")]
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        # New contents of a file that were not renamed into its place.
        unnamed = [path for where in ("", REPORTS) for path in (self.folder / where).glob(".*.json.*")]
        for path in unnamed:
            path.unlink(missing_ok=True)
        oldest = (self.now - timedelta(days=BAD_DAYS)).timestamp()
        bad = [path for path in (self.folder / BAD).glob("*/*") if path.stat().st_mtime < oldest]
        for path in bad:
            path.unlink()
        return {"unfinished": len(left) + len(unnamed), "bad files": len(bad)}


def _next_stamp(state: dict[str, Any], now: datetime) -> int:
    """Return a stamp above all others: if somebody sets the clock back, what is made later is newer still."""
    newest = max((stamp for made in state.get("made", {}).values() for stamp in made.values()), default=0)
    return max(int(now.timestamp() * 1000), newest + 1)


def _changed(state: Mapping[str, Any], table: str, days: Iterable[str], since: Mapping[str, int]) -> dict[str, int]:
    """Return from when on, in ms, each of these dates has other rows than what was made of it; 0 is from its begin."""
    made, target = state.get("made", {}), MADE_OF.get(table)
    if target is None:
        return {}
    known, mine, theirs = state.get("since", {}).get(table, {}), made.get(table, {}), made.get(target, {})
    found = {}
    for day in days:
        is_fresh = theirs.get(day, -1) > mine.get(day, 0)
        found[day] = since.get(day, 0) if is_fresh else min(since.get(day, 0), known.get(day, 0))
    if table in RAW:
        # The first counts of a day are differences from the last rows of the day before.
        after = {str(date.fromisoformat(day) + timedelta(days=1)) for day in days}
        found |= dict.fromkeys(sorted(after & set(mine) - set(found)), 0)
    return found


def _ms(when: datetime) -> int:
    return int(when.timestamp() * 1000)
