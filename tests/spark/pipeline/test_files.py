"""Each line is read once, also of a file that is still written to."""

from datetime import date

from pybroker.spark.pipeline import files

CLOSED = ("20260105T00.0001.ndjson", "20260105T01.0001.ndjson")
OPEN = "20260106T00.0001.ndjson.open"


def put(folder, *names, octets=b"xx\n"):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(octets)


def found(folder, known):
    return [(part.path.name, part.start, part.end) for part in files.find(folder, "t", known).parts]


def test_files_are_read_once(tmp_path):
    put(tmp_path / "t", *CLOSED, OPEN, "notes.txt", "2026.ndjson")
    waiting = files.find(tmp_path, "t", {CLOSED[0]: 3})
    assert [part.path.name for part in waiting.parts] == [CLOSED[1], OPEN]
    assert [part.name for part in waiting.parts] == [CLOSED[1], OPEN.removesuffix(".open")]
    assert waiting.dates == {date(2026, 1, 5), date(2026, 1, 6)}
    assert waiting.octets == 6
    assert files.find(tmp_path, "none", {}).parts == []


def test_of_a_file_that_grew_the_rest_is_read(tmp_path):
    put(tmp_path / "t", CLOSED[0], octets=b"one\ntwo\n")
    assert found(tmp_path, {CLOSED[0]: 4}) == [(CLOSED[0], 4, 8)]
    # It is another one: as after a crash of the machine.
    assert found(tmp_path, {CLOSED[0]: 9}) == [(CLOSED[0], 0, 8)]


def test_of_a_file_that_is_written_to_whole_lines_are_read(tmp_path):
    put(tmp_path / "t", OPEN, octets=b"one\ntwo\nthr")
    name = OPEN.removesuffix(".open")
    assert found(tmp_path, {}) == [(OPEN, 0, 8)]
    assert found(tmp_path, {name: 8}) == []
    put(tmp_path / "t", OPEN, octets=b"no line" + b"x" * files.BLOCK_OCTETS)
    assert found(tmp_path, {}) == []
    (tmp_path / "t" / OPEN).rename(tmp_path / "t" / name)
    assert found(tmp_path, {name: 8}) == [(name, 8, 7 + files.BLOCK_OCTETS)]


def test_a_line_may_be_longer_than_what_is_looked_at_together(tmp_path):
    put(tmp_path / "t", OPEN, octets=b"one\n" + b"x" * (2 * files.BLOCK_OCTETS))
    assert found(tmp_path, {}) == [(OPEN, 0, 4)]


def test_what_waits_is_that_of_all_tables(tmp_path):
    put(tmp_path / "queue_sample", *CLOSED, octets=b"four\n")
    put(tmp_path / "alarm_event", CLOSED[0])
    put(tmp_path / "nobody_knows", CLOSED[0])
    assert files.octets_waiting(tmp_path, {}) == 13
    # Of an older version, which knew one folder.
    assert files.octets_waiting(tmp_path, {"files": {"queue_sample": {CLOSED[0]: 5}}}) == 8


def read(state, folder):
    """Read all there is; return the octets of each file that were."""
    octets = {}
    for table, found in files.waiting(folder, state).items():
        octets |= {f"{table}/{part.name}": part.end - part.start for part in found.parts}
        if found.parts:
            files.note(state, folder, table, found)
    return octets


def test_files_of_the_same_name_in_two_folders_are_two(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    state = {"files": {"queue_sample": {CLOSED[0]: 3}}}
    put(one / "queue_sample", *CLOSED)
    put(one / "alarm_event", OPEN)
    assert read(state, one) == {f"queue_sample/{CLOSED[1]}": 3, f"alarm_event/{OPEN.removesuffix('.open')}": 3}
    put(two / "queue_sample", *CLOSED, octets=b"longer\n")
    assert read(state, two) == {f"queue_sample/{name}": 7 for name in CLOSED}
    # One after the other, again and again: nothing is read twice.
    assert [read(state, folder) for folder in (one, two, one, two)] == [{}] * 4
    (one / "queue_sample" / CLOSED[0]).unlink()
    put(one / "queue_sample", OPEN)
    assert read(state, one) == {f"queue_sample/{OPEN.removesuffix('.open')}": 3}
    assert state.keys() == {"read"}
    assert {*state["read"][str(one)]["queue_sample"]} == {CLOSED[1], OPEN.removesuffix(".open")}


def test_a_folder_that_is_read_no_more_is_forgotten_in_the_end(tmp_path):
    state = {}
    for day in ("20260105", "20260203", "20260205"):
        put(tmp_path / day / "queue_sample", f"{day}T00.0001.ndjson")
        read(state, tmp_path / day)
    assert [*state["read"]] == [str(tmp_path / "20260203"), str(tmp_path / "20260205")]
