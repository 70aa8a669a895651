"""Every line of the daemon's files is a row or bad, wherever it stands; checked against a reader of single lines."""

import importlib.util
import json
import math
import subprocess
import sys
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.spark.conftest import spark_environment

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark import cloudpickle  # noqa: E402 - may not be there
from pyspark.sql.pandas.types import to_arrow_schema  # noqa: E402 - may not be there

from pybroker.spark.pipeline import telemetry_source  # noqa: E402 - likewise
from pybroker.spark.pipeline.schemas import ALARM_EVENT, NODE_SAMPLE, VERSION, Column, Table  # noqa: E402 - likewise
from pybroker.spark.pipeline.telemetry_source import JournalReader, LineParser, Piece, blocks, split  # noqa: E402 - likewise

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
    struct = table.struct().add(telemetry_source.TEXT, "string").add(telemetry_source.FILE, "string")
    return LineParser(to_arrow_schema(struct, timezone="UTC"), table.key, VERSION)


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
    assert (row["ts"].isoformat(), row["date"]) == ("2026-01-05T00:00:00+00:00", DAY)


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
        assert (row.pop("date"), row.pop(telemetry_source.TEXT), row.pop(telemetry_source.FILE)) == (DAY, None, None)
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


def test_a_file_that_is_gone_is_not_an_empty_one(tmp_path):
    path = tmp_path / "20260105T00.0001.ndjson"
    path.write_text(f"{GOOD}\n")
    reader = JournalReader([str(path)], lines_of(ALARM_EVENT))
    (partition,) = reader.partitions()
    assert [batch.num_rows for batch in reader.read(partition)] == [1]
    path.unlink()
    # It would count as read.
    for attempt in (reader.partitions, lambda: [*reader.read(partition)]):
        with pytest.raises(FileNotFoundError):
            attempt()


def test_of_a_split_that_is_garbage_throughout_the_begin_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(telemetry_source, "TEXT_OCTETS_MAX", 10)
    path = tmp_path / "20260105T00.0001.ndjson"
    path.write_text("12345\n" * 4)
    reader = JournalReader([str(path)], lines_of(ALARM_EVENT))
    found = [row for batch in reader.read(*reader.partitions()) for row in batch.to_pylist()]
    assert [row[telemetry_source.TEXT] for row in found] == ["12345", "12345", None, None]
    assert {row[telemetry_source.FILE] for row in found} == {path.name}


def test_small_files_go_together_and_a_large_one_is_divided():
    mib = 1 << 20
    assert split({"a": 5, "b": 0, "c": 7}) == [[Piece("a", 0, 5), Piece("c", 0, 7)]]
    assert split({"a": 4 * mib, "b": 4 * mib}) == [
        [Piece("a", 0, 2 * mib)],
        [Piece("a", 2 * mib, 4 * mib)],
        [Piece("b", 0, 2 * mib)],
        [Piece("b", 2 * mib, 4 * mib)],
    ]
    large = split({"a": 1_000 * mib})
    assert {sum(piece.end - piece.start for piece in task) for task in large} == {64 * mib, 40 * mib}
    assert split({}) == []


STRANGER = """
import sys
from pyspark import cloudpickle
from pyspark.sql.types import StructType
source, struct, options = cloudpickle.loads(sys.stdin.buffer.read())
reader = cloudpickle.loads(cloudpickle.dumps(source(options).reader(StructType.fromJson(struct))))
for partition in reader.partitions():
    for batch in reader.read(partition):
        print(batch.num_rows, batch["used"].to_pylist())
assert not [name for name in sys.modules if name.startswith("pybroker")]
"""


def test_a_process_that_has_nothing_of_ours_reads_it(tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("pyspark", "py4j", "pyarrow"):
        (bare / name).symlink_to(Path(importlib.util.find_spec(name).origin).parent)
    path = tmp_path / "20260105T00.0001.ndjson"
    path.write_text(f"{GOOD}\n{GOOD}\n")
    options = {"paths": json.dumps([str(path)]), "key": json.dumps([*ALARM_EVENT.key]), "line": str(VERSION)}
    with telemetry_source.by_value():
        octets = cloudpickle.dumps((telemetry_source.JournalSource, ALARM_EVENT.struct().jsonValue(), options))
    command = [sys.executable, "-S", "-c", STRANGER]
    environment = {**spark_environment(), "PYTHONPATH": str(bare)}
    done = subprocess.run(command, input=octets, capture_output=True, check=False, env=environment, cwd=tmp_path)
    assert (done.stdout.decode(), done.stderr.decode()) == ("2 [5, 5]\n", "")


# -- through Spark -----------------------------------------------------------------------------------------------------


@pytest.fixture(params=[telemetry_source.HERE_OCTETS, -1], ids=["here", "in Spark's workers"])
def place(request, monkeypatch):
    monkeypatch.setattr(telemetry_source, "HERE_OCTETS", request.param)


@pytest.mark.spark
def test_spark_reads_rows_and_bad_lines(spark, tmp_path, place):
    first, second, empty = (tmp_path / f"20260105T0{hour}.0001.ndjson" for hour in range(3))
    second = second.with_suffix(".ndjson.open")
    first.write_text(f"{GOOD}\nno line\n")
    second.write_text(f"{GOOD}\n".replace('"used":5', '"used":6') + GOOD[:9])
    empty.touch()
    frame = telemetry_source.read(spark, [first, second, empty], ALARM_EVENT.struct(), ALARM_EVENT.key, VERSION)
    found = {
        (row.ts, row.used, row.resource, row[telemetry_source.TEXT], row[telemetry_source.FILE])
        for row in frame.collect()
    }
    ts = datetime.fromtimestamp(MS / 1000)  # what Spark collects is a local time
    rows = {(ts, 5, "memory", None, None), (ts, 6, "memory", None, None)}
    assert found == rows | {(None, None, None, "no line", first.name)}
    assert telemetry_source.read(spark, [empty], NODE_SAMPLE.struct(), NODE_SAMPLE.key, VERSION).collect() == []
