"""Every line of the daemon's files is a row or bad, wherever it stands; checked against a reader of single lines."""

import importlib.util
import json
import math
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.spark.conftest import spark_environment

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark import cloudpickle  # noqa: E402 - may not be there

from pybroker.spark.pipeline import session  # noqa: E402 - likewise
from pybroker.spark.pipeline.columns import codes, increments, telemetry_source  # noqa: E402 - likewise
from pybroker.spark.pipeline.columns.telemetry_source import Added, Day, LineParser, Piece, blocks  # noqa: E402 - likewise
from pybroker.spark.pipeline.jobs import aggregation, rollup  # noqa: E402 - likewise
from pybroker.spark.pipeline.schemas import ALARM_EVENT, VERSION, Column, Table  # noqa: E402 - likewise

HOUR = timedelta(hours=1)

DAY = date(2026, 1, 5)
MS = 1_767_571_200_000
DAY_MS = 86_400_000
GOOD = '{"v":1,"ts":1767571200000,"node":"n","epoch":1,"resource":"memory","alarm_node":"n","action":"set","used":5}'
# One column of each type, the first two of the key.
SMALL = Table(
    "small",
    "anything",
    ("node", "epoch"),
    (
        Column("ts", "TIMESTAMP", "when"),
        Column("node", "STRING", "text"),
        Column("epoch", "BIGINT", "whole number"),
        Column("part", "DOUBLE", "number"),
        Column("first", "BOOLEAN", "yes or no"),
    ),
    1,
)


def lines_of(table):
    return LineParser(increments.schema(table), table.key, VERSION)


def parse(table, block):
    """Return the rows and the bad lines of a block."""
    rows, bad = [], []
    for found in lines_of(table).parse(block, DAY):
        if isinstance(found, pa.Table):
            found.validate(full=True)
            rows += found.to_pylist()
        else:
            bad += found
    return rows, bad


BAD = {
    "cut": GOOD[:50],
    "no JSON": "hello",
    "a list": "[]",
    "nothing": "null",
    "two objects": GOOD + GOOD,
    "more behind it": GOOD + " x",
    "a name twice": GOOD.replace('"used":5', '"used":5,"used":5'),
    "another version": GOOD.replace('"v":1', '"v":2'),
    "no version": GOOD.replace('"v":1,', ""),
    "no time": GOOD.replace('"ts":1767571200000,', ""),
    "no key": GOOD.replace('"action":"set",', ""),
    "nothing as key": GOOD.replace('"action":"set"', '"action":null'),
    "another type": GOOD.replace('"used":5', '"used":"many"'),
    "a part of a whole number": GOOD.replace('"used":5', '"used":5.5'),
    "more than fits": GOOD.replace('"used":5', '"used":9223372036854775808'),
    "a number as text": GOOD.replace('"node":"n"', '"node":5'),
    "the day after its file": GOOD.replace("1767571200000", "1767657600000"),
    "the day before its file": GOOD.replace("1767571200000", "1767571199999"),
    "no UTF-8": GOOD.replace('"node":"n"', '"node":"\udcff"'),
    "no UTF-8 where nobody looks": GOOD.replace('"v":1', '"v":1,"else":"\udcff"'),
    "a control character": GOOD.replace('"node":"n"', '"node":"\t"'),
    "zeros after a loss of power": "\0" * 20,
    "a mark of order": "\ufeff" + GOOD,
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_bad_line_is_kept_and_costs_no_other_one(line):
    octets = line.encode(errors="surrogateescape")
    before, after = GOOD.encode(), GOOD.replace('"used":5', '"used":6').encode()
    rows, bad = parse(ALARM_EVENT, b"\n".join((before, octets, after, b"")))
    assert [row["used"] for row in rows] == [5, 6]
    assert bad == [octets]


def test_an_object_over_two_lines_does_not_hide_behind_two_in_one():
    torn = [GOOD[:20].encode(), GOOD[20:].encode()]
    rows, bad = parse(ALARM_EVENT, b"\n".join((GOOD.encode() * 2, *torn, b"")))
    assert rows == []
    assert bad == [GOOD.encode() * 2, *torn]


@pytest.mark.parametrize(
    "line",
    [
        GOOD,
        GOOD.replace('"v":1', '"v":1,"later":{"x":[1,{}]}'),
        f"  {GOOD}\r",
        GOOD.replace('"node":"n"', '"node":"ünï"'),
        GOOD.replace('"used":5', '"used":null'),
    ],
    ids=["as written", "a column of later", "blanks around it", "beyond ASCII", "an empty column"],
)
def test_a_line_is_a_row(line):
    (row,), bad = parse(ALARM_EVENT, f"\n{line}\n \n".encode())
    assert bad == []
    given = json.loads(line)
    assert (row["used"], row["node"], row["why"]) == (given["used"], given["node"], None)
    assert row["ts"].isoformat() == "2026-01-05T00:00:00+00:00"


# -- against a reader of single lines ----------------------------------------------------------------------------------


class NoRowError(Exception):
    """A line that is no row."""


def no_pair_twice(pairs):
    names = [name for name, _ in pairs]
    if any(names.count(column.name) > 1 for column in SMALL.columns) or names.count("v") > 1:
        raise NoRowError
    return dict(pairs)


def is_of(kind, value):
    match kind:
        case "STRING":
            return isinstance(value, str)
        case "BIGINT" | "TIMESTAMP":
            return type(value) is int and -(1 << 63) <= value < 1 << 63
        case "DOUBLE":
            return type(value) in {int, float} and math.isfinite(value)
        case _:
            return isinstance(value, bool)


def row_of(line):
    """Return what a line says; raises NoRowError or ValueError."""
    row = json.loads(line.decode(), object_pairs_hook=no_pair_twice)
    if not isinstance(row, dict) or row.get("v") != VERSION or type(row["v"]) is not int:
        raise NoRowError
    found = {column.name: row.get(column.name) for column in SMALL.columns}
    if not all(found[column.name] is None or is_of(column.type, found[column.name]) for column in SMALL.columns):
        raise NoRowError
    if any(found[name] is None for name in ("ts", *SMALL.key)) or not MS <= found["ts"] < MS + DAY_MS:
        raise NoRowError
    return found


def model(block):
    rows, bad = [], []
    for line in block.split(b"\n"):
        if line.strip(b" \t\r"):
            try:
                rows.append(row_of(line))
            except (NoRowError, ValueError):
                bad.append(line.strip(b" \t\r"))
    return rows, bad


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 65), 1 << 65),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    st.just([]),
    st.just({"node": 1}),
)
ROWS = st.fixed_dictionaries(
    {"v": st.just(1), "ts": st.integers(MS, MS + DAY_MS - 1), "node": TEXTS, "epoch": st.integers(0, 9)},
    optional={"part": st.floats(allow_nan=False, allow_infinity=False), "first": st.booleans(), "x": VALUES},
)
NAMES = st.sampled_from(["v", "ts", "node", "epoch", "part", "first", "x"])
ODD = st.tuples(ROWS, st.dictionaries(NAMES, VALUES, min_size=1, max_size=2)).map(lambda both: both[0] | both[1])
WRITTEN = st.builds(
    lambda row, is_ascii, blanks: (json.dumps(row, ensure_ascii=is_ascii, separators=(",", ":")) + blanks).encode(),
    st.one_of(ROWS, ROWS, ODD),
    st.booleans(),
    st.sampled_from(["", "", "", " ", "\r"]),
)
TORN = st.tuples(WRITTEN, WRITTEN, st.integers(0, 40)).map(lambda both: both[0][: both[2]] + both[1])
CUT = st.tuples(WRITTEN, st.integers(0, 40)).map(lambda both: both[0][: both[1]] + b"\n" + both[0][both[1] :])
LINES = st.one_of(WRITTEN, WRITTEN, WRITTEN, TORN, CUT, st.binary(max_size=8), st.just(b""))


def seen(rows):
    # repr tells -0.0 from 0.0, and 1 from True.
    return [[repr(value) for value in row.values()] for row in rows]


@settings(deadline=None)
@given(st.lists(LINES, max_size=12).map(b"\n".join), st.sampled_from([b"", b"\n"]))
def test_it_finds_the_same_rows_and_bad_lines_as_a_reader_of_single_lines(block, end):
    rows, bad = parse(SMALL, block + end)
    for row in rows:
        row["ts"] = round(row["ts"].timestamp() * 1000)
    expected, expected_bad = model(block + end)
    for row in expected:
        row["part"] = None if row["part"] is None else float(row["part"])
    assert seen(rows) == seen(expected)
    assert sorted(bad) == sorted(expected_bad)


# -- files and ranges of them ------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(
    st.binary(max_size=60).map(lambda octets: octets.replace(b"\0", b"\n").replace(b"\1", b"\n")),
    st.lists(st.integers(0, 60), max_size=4),
    st.integers(1, 20),
)
def test_every_line_of_a_file_is_in_one_range(tmp_path_factory, octets, cuts, block_octets):
    path = tmp_path_factory.getbasetemp() / "20260105T00.0001.ndjson"
    path.write_bytes(octets)
    bounds = [0, *sorted(min(cut, len(octets)) for cut in cuts), len(octets)]
    before = telemetry_source.BLOCK_OCTETS
    telemetry_source.BLOCK_OCTETS = block_octets
    try:
        found = [block for start, end in pairwise(bounds) for block in blocks(path, start, end)]
    finally:
        telemetry_source.BLOCK_OCTETS = before
    assert b"".join(found) == octets
    assert all(block.endswith(b"\n") for block in found[:-1])


def test_a_last_line_that_is_cut_counts_when_its_file_is_closed(tmp_path):
    path = tmp_path / "20260105T00.0001.ndjson.open"
    path.write_bytes(b"a\nb")
    assert [*blocks(path, 0, 3)] == [b"a\n"]
    assert [*blocks(path, 2, 3)] == []
    # It may be closed between being found and being read.
    path.rename(path.with_suffix(""))
    assert [*blocks(path.with_suffix(""), 0, 3)] == [b"a\nb"]
    assert [*blocks(path, 0, 3)] == [b"a\n"]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "day"


def add(folder, *paths, number="1", start=0):
    """Add the lines of files to a date; return what came of it, and the rows that are there then."""
    pieces = [Piece(path, start, path.stat().st_size) for path in paths]
    new = folder.with_name(f"new{number}")
    added = telemetry_source.add(Day(DAY, pieces, folder, new), lines_of(ALARM_EVENT), ALARM_EVENT.identity, number)
    made = new if new.exists() else folder
    rows = increments.read(increments.parts(made), increments.schema(ALARM_EVENT)).sort_by("ts").to_pylist()
    if new.exists():
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name] * folder.exists()
    return added, [round(row["ts"].timestamp() * 1000) - MS for row in rows]


def test_a_file_that_is_gone_is_not_an_empty_one(folder):
    with pytest.raises(FileNotFoundError):
        telemetry_source.add(
            Day(DAY, [Piece(folder / "20260105T00.0001.ndjson", 0, 5)], folder, folder / "new"),
            lines_of(ALARM_EVENT),
            ALARM_EVENT.identity,
            "1",
        )


def test_of_a_file_that_is_garbage_throughout_the_begin_is_kept(folder, monkeypatch):
    monkeypatch.setattr(telemetry_source, "TEXT_OCTETS_MAX", 10)
    monkeypatch.setattr(telemetry_source, "BLOCK_OCTETS", 1)
    path = folder.with_name("20260105T00.0001.ndjson")
    path.write_text("12345\n" * 4)
    added, rows = add(folder, path)
    assert (added.lines, added.bad, added.texts, rows) == (4, 4, {path.name: ["12345", "12345"]}, [])


def line(ms):
    return GOOD.replace(str(MS), str(MS + ms)) + "\n"


def test_lines_are_added_some_at_a_time_and_each_row_once(folder, monkeypatch):
    monkeypatch.setattr(telemetry_source, "BLOCK_OCTETS", 300)
    monkeypatch.setattr(telemetry_source, "WRITTEN_OCTETS", 300)
    first, second = (folder.with_name(f"20260105T0{hour}.0001.ndjson") for hour in (0, 1))
    first.write_text("".join(map(line, (5, 1, 5, 7))) + "no line\n" + line(1))
    second.write_text("".join(map(line, (9, 2, 7, 8))) + "none\n")
    added, rows = add(folder, first, second)
    texts = {first.name: ["no line"], second.name: ["none"]}
    assert added == Added(lines=11, rows=6, since_ms=MS + 1, bad=2, texts=texts)
    assert rows == [1, 2, 5, 7, 8, 9]
    start = second.stat().st_size
    with second.open("a") as file:
        file.write(line(7) + line(3) + "bad\n")
    added, rows = add(folder, second, number="2", start=start)
    assert added == Added(3, 1, MS + 3, 1, {f"{second.name}.{start}": ["bad"]})
    assert rows == [1, 2, 3, 5, 7, 8, 9]
    assert add(folder, second, number="3")[0].rows == 0


def test_rows_of_the_same_time_are_told_apart_by_their_order(folder):
    path = folder.with_name("20260105T00.0001.ndjson")
    again = line(1).replace('"epoch":1', '"epoch":1,"seq":2')
    path.write_text(line(1) + again + again.replace('"seq":2', '"seq":3') + again + line(1))
    assert add(folder, path)[1] == [1, 1, 1]


STRANGER = """
import sys
from pyspark import cloudpickle
work, items = cloudpickle.loads(sys.stdin.buffer.read())
for item in items:
    print(work(item))
assert not [name for name in sys.modules if name.startswith("pybroker")]
"""


def test_a_process_that_has_nothing_of_ours_does_it(tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("pyspark", "py4j", "pyarrow"):
        (bare / name).symlink_to(Path(importlib.util.find_spec(name).origin).parent)
    path = tmp_path / "20260105T00.0001.ndjson"
    path.write_text(f"{GOOD}\n{GOOD}\n")
    day = Day(DAY, [Piece(path, 0, path.stat().st_size)], tmp_path / "here", tmp_path / "new")
    parser, recipe = lines_of(ALARM_EVENT), rollup.recipe(*rollup.MADE[2])
    noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    none = tmp_path / "none"
    works = (
        (partial(telemetry_source.add, parser=parser, identity=ALARM_EVENT.identity, number="1"), day),
        (
            partial(aggregation.make, recipe=recipe, number="1"),
            aggregation.Span(noon, noon + HOUR, [], [none], none, tmp_path / "made"),
        ),
    )
    command = [sys.executable, "-S", "-c", STRANGER]
    environment = {**spark_environment(), "PYTHONPATH": str(bare)}
    expected = (f"Added(lines=2, rows=1, since_ms={MS}, bad=0, texts={{}})\n", "None\n")
    for (work, item), told in zip(works, expected, strict=True):
        with session._by_value([telemetry_source, increments, aggregation, codes]):
            octets = cloudpickle.dumps((work, [item]))
        done = subprocess.run(command, input=octets, capture_output=True, check=False, env=environment, cwd=tmp_path)
        assert (done.stdout.decode(), done.stderr.decode()) == (told, "")
