"""A date is the old one or the new one, whole, wherever a run is killed; the next run finishes what was decided."""

import errno
import json
import os
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from pybroker.spark.pipeline import replacement, tables
from pybroker.spark.pipeline.tables import Warehouse

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TABLE = "queue_1m"
DAYS = [date(2026, 2, day) for day in (1, 2, 3, 4)]


class Killed(BaseException):
    """The end of a run, at one of its steps."""


class Steps:
    """Counts what changes a file system, and ends the run before one of these steps."""

    def __init__(self, monkeypatch, last=None):
        self.count, self.last = 0, last
        for owner, name in ((Path, "rename"), (Path, "replace"), (Path, "mkdir"), (Path, "write_bytes")):
            monkeypatch.setattr(owner, name, self.step(getattr(owner, name)))
        monkeypatch.setattr(os, "fsync", self.step(lambda _file: None))
        monkeypatch.setattr(replacement, "_exchange", self.step(replacement._exchange))
        monkeypatch.setattr(tables.shutil, "rmtree", self.step(tables.shutil.rmtree))

    def step(self, change):
        def changed(*arguments, **options):
            if self.count == self.last:
                raise Killed
            self.count += 1
            return change(*arguments, **options)

        return changed


def put(folder, **files):
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.parquet").write_text(text)


def content(warehouse):
    return {
        path.name.removeprefix("date="): sorted(file.read_text() for file in path.glob("*.parquet"))
        for path in sorted((warehouse.folder / TABLE).glob("date=*"))
    }


# 1 is replaced, 2 goes, 3 is new, 4 stays away; 5 is none of it.
OLD = {"2026-02-01": ["old 1"], "2026-02-02": ["old 2"], "2026-02-05": ["old 5"]}
NEW = {"2026-02-01": ["new 1a", "new 1b"], "2026-02-03": ["new 3"], "2026-02-05": ["old 5"]}


def prepared(tmp_path):
    warehouse = Warehouse(tmp_path / "w", NOW)
    for day, (text,) in OLD.items():
        put(warehouse.folder / TABLE / f"date={day}", a=text)
    warehouse.note("made", TABLE, dict.fromkeys(OLD, 5))
    warehouse.note("files", "queue_sample", {"x": 1})
    staged = warehouse.folder / ".staging" / f"{TABLE}.1"
    put(staged / "date=2026-02-01", b="new 1a", c="new 1b")
    put(staged / "date=2026-02-03", d="new 3")
    return warehouse, staged


def without_exchange(monkeypatch):
    class Library:
        @staticmethod
        def renameat2(*_arguments):
            replacement.ctypes.set_errno(errno.EINVAL)
            return -1

    monkeypatch.setattr(replacement.ctypes, "CDLL", lambda *_arguments, **_options: Library)


def killed(monkeypatch, last, work):
    """Do work that is killed before a step; tell whether it was."""
    with monkeypatch.context() as patch:
        steps = Steps(patch, last)
        try:
            work()
        except Killed:
            return True
        finally:
            steps.last = None
    return False


@pytest.mark.parametrize("exchanges", [True, False])
def test_killed_at_each_step_and_once_more_it_is_the_old_or_the_new(tmp_path, monkeypatch, exchanges):
    if not exchanges:
        without_exchange(monkeypatch)
    ends = set()
    for first, second in ((n, n % 4 + 4 * k) for n in range(60) for k in range(9)):
        warehouse, staged = prepared(tmp_path / f"{first}.{second}")
        state = warehouse.folder / "_state.json"
        if not killed(monkeypatch, first, lambda: warehouse._replace(TABLE, staged, DAYS)):  # noqa: B023 - at once
            assert content(warehouse) == NEW
            break
        decided = "replacing" in json.loads(state.read_text())
        once_more = killed(monkeypatch, second, Warehouse(warehouse.folder, NOW).sweep)
        seen = content(warehouse)
        if exchanges:
            # A reader finds each date old or new, and none away that is to stay.
            assert all(seen.get(day) in (OLD.get(day), NEW.get(day)) for day in {*OLD, *NEW})
        if once_more:
            Warehouse(warehouse.folder, NOW).sweep()
        known = Warehouse(warehouse.folder).state()
        ends.add((decided, once_more))
        assert content(warehouse) == (NEW if decided or known["made"][TABLE]["2026-02-01"] > 5 else OLD)
        assert "replacing" not in known
        assert known["files"] == {"queue_sample": {"x": 1}}
        assert list((warehouse.folder / ".staging").iterdir()) == []
    else:
        pytest.fail("it never ended")
    assert ends == {(False, False), (False, True), (True, False), (True, True)}


def test_what_is_made_later_is_newer_though_the_clock_was_set_back(tmp_path):
    warehouse, staged = prepared(tmp_path)
    warehouse._replace(TABLE, staged, DAYS)
    earlier = Warehouse(warehouse.folder, datetime(2026, 2, 28, tzinfo=UTC))
    put(earlier.folder / ".staging" / "t.2" / "date=2026-02-01", e="newer")
    earlier._replace("queue_sample", earlier.folder / ".staging" / "t.2", DAYS[:1])
    assert earlier.stamp("queue_sample", DAYS[0]) == warehouse.stamp(TABLE, DAYS[0]) + 1


def test_what_cannot_be_placed_waits_for_the_next_run(tmp_path, monkeypatch):
    warehouse, staged = prepared(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(replacement, "_exchange", lambda *_paths: (_ for _ in ()).throw(PermissionError(13, "no")))
        with pytest.raises(PermissionError):
            warehouse._replace(TABLE, staged, DAYS)
    assert content(warehouse) == OLD
    assert warehouse.finish()
    assert content(warehouse) == NEW
    assert not warehouse.finish()
