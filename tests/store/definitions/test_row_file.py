"""definitions.sqlite: batches are transactions, queue ids are remembered, what SQLite refuses has a sentence."""

import sqlite3

import pytest

from pybroker.store.definitions.row_file import Batch, RowFile, RowFileError, State, checked, connect
from tests.store.definitions_folder import SAMPLE


def rows_of(file):
    return {(row.kind, row.key): row.value for row in (checked(*found) for found in file.rows())}


@pytest.fixture
def file(tmp_path):
    file = RowFile.create(tmp_path / "d.sqlite")
    yield file
    file.close()


def test_rows_of_every_kind_are_there_again(file, tmp_path):
    state = file.apply(Batch(SAMPLE, 9))
    assert SAMPLE == rows_of(file)
    file.close()
    again = RowFile(tmp_path / "d.sqlite", state)
    assert SAMPLE == rows_of(again)
    again.close()


def test_the_state_sums_up_what_is_there(file):
    first = file.apply(Batch(SAMPLE, 9))
    assert (9, 8, len(SAMPLE)) == first[:3]
    key = ("vhost", ("other",))
    file.apply(Batch({key: {"x": 1}}, 10))
    file.apply(Batch({key: {"x": 2}}, 11))
    assert first == file.apply(Batch({key: None}, 12))._replace(changes=9)
    assert State(13, 8) == file.apply(Batch(dict.fromkeys(SAMPLE), 13))


def test_what_is_cleared_goes_before_what_comes(file):
    file.apply(Batch(SAMPLE, 9))
    state = file.apply(Batch({("vhost", ("/",)): {}}, 10, clear=True))
    assert {("vhost", ("/",)): {}} == rows_of(file)
    assert (10, 8, 1) == state[:3]


def test_an_id_is_remembered_when_its_queue_is_gone(file):
    file.apply(Batch({("queue", ("/", "q")): {"id": 41}}, 1))
    assert 42 == file.apply(Batch({("queue", ("/", "q")): None}, 2)).next_queue_id


def test_the_id_of_an_exchange_that_keeps_messages_is_remembered_too(file):
    plain = {("exchange", ("/", "plain")): {"type": "direct"}}
    file.apply(Batch({**plain, ("exchange", ("/", "x")): {"schedule_id": 41}}, 1))
    assert 42 == file.apply(Batch({("exchange", ("/", "x")): None}, 2)).next_queue_id


def test_many_rows_are_replaced_and_removed(file):
    many = {("queue", ("/", f"q{n}")): {"id": n} for n in range(400)}
    file.apply(Batch(many, 1))
    again = {key: {"id": value["id"], "x": 1} for key, value in many.items()}
    assert 400 == file.apply(Batch(again, 2)).row_count
    assert again == rows_of(file)
    assert State(3, 400) == file.apply(Batch(dict.fromkeys(many), 3))


def test_a_full_disk_undoes_the_batch_and_goes_by(file):
    file.apply(Batch(SAMPLE, 9))
    pages = file._connection.execute("PRAGMA page_count").fetchone()[0]
    file._connection.execute(f"PRAGMA max_page_count={pages}")
    many = {("queue", ("/", f"q{n}")): {"id": n, "x": "x" * 100} for n in range(400)}
    with pytest.raises(RowFileError) as caught:
        file.apply(Batch(many, 10))
    assert caught.value.passing
    assert str(caught.value).endswith("d.sqlite: database or disk is full")
    assert SAMPLE == rows_of(file)
    file._connection.execute("PRAGMA max_page_count=1000000")
    assert 10 == file.apply(Batch(many, 10)).changes


def test_what_another_program_holds_is_not_taken_for_damaged(file, tmp_path, monkeypatch):
    monkeypatch.setattr("pybroker.store.definitions.row_file.BUSY_S", 0.01)
    file._connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(RowFileError) as caught:
        RowFile(tmp_path / "d.sqlite", file.state)
    assert caught.value.passing


def test_a_failing_medium_does_not_go_by(file, tmp_path):
    with connect(tmp_path / "d.sqlite", write=True) as other:
        other.execute('DROP TABLE "queue"')
    other.close()
    with pytest.raises(RowFileError) as caught:
        file.apply(Batch({("queue", ("/", "q")): {"id": 1}}, 1))
    assert not caught.value.passing


def test_a_folder_in_its_place_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(RowFileError, match=r"cannot make .*folder: unable to open database file"):
        RowFile.create(tmp_path / "folder")
    with pytest.raises(RowFileError, match=r"cannot open .*folder: unable to open database file"):
        RowFile(tmp_path / "folder", State())


def test_a_human_can_read_it(file, tmp_path):
    file.apply(Batch({("queue", ("/", "q")): {"id": 1, "durable": True}}, 1))
    with sqlite3.connect(tmp_path / "d.sqlite") as human:
        query = "SELECT vhost, name, json_extract(value, '$.durable') FROM queue"
        assert [("/", "q", 1)] == human.execute(query).fetchall()
    human.close()


def test_a_file_that_was_removed_takes_no_more(tmp_path):
    """Writes to it go with the process: nobody may be told that they are on disk."""
    path = tmp_path / "definitions.sqlite"
    file = RowFile.create(path)
    file.apply(Batch({("vhost", ("a",)): {}}, 1))
    path.unlink()
    with pytest.raises(RowFileError, match="the file was removed or replaced") as raised:
        file.apply(Batch({("vhost", ("b",)): {}}, 2))
    assert not raised.value.passing
    file.close()
