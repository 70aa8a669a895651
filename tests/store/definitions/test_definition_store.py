"""The hub's side: what gathers is one batch, commit positions complete in order, a full disk is tried again."""

import json

import pytest

from pybroker.store.definitions.row_file import RowFileError
from pybroker.store.disk import DiskError
from tests.store.definitions_folder import SAMPLE, Folder, changed_row


@pytest.fixture
def folder(tmp_path):
    folder = Folder(tmp_path / "data")
    folder.open()
    return folder


def written(folder):
    """Return the number of the change that the newest snapshot is as of; 0 without one."""
    path = folder.path / "definitions.json"
    return json.loads(path.read_text())["pybroker"]["changes"] if path.exists() else 0


class Refusing:
    """Stands for a RowFile whose transactions fail."""

    def __init__(self, file, error):
        self.file, self.error = file, error

    def apply(self, batch):
        raise self.error

    def __getattr__(self, name):
        return getattr(self.file, name)


def refusal(*, passing):
    error = RowFileError("write", __import__("sqlite3").OperationalError("refused"))
    error.passing = passing
    return error


def test_what_is_put_is_there_after_a_stop(folder):
    folder.fill(SAMPLE)
    folder.stop()
    folder.open()
    assert SAMPLE == folder.rows
    assert ([], [], False) == (folder.opened.notices, folder.opened.reports, folder.store.is_new)


def test_what_has_completed_survives_a_kill(folder):
    folder.fill(SAMPLE)
    assert folder.store.completed == folder.store.commit_position == len(SAMPLE)
    folder.kill()
    folder.open()
    assert SAMPLE == folder.rows
    assert [] == folder.opened.notices + folder.opened.reports


def test_what_was_not_written_is_gone_and_a_new_folder_stays_new(folder):
    folder.store.put(*changed_row(1))
    folder.kill()
    folder.open()
    assert ({}, True) == (folder.rows, folder.store.is_new)


def test_what_comes_while_a_batch_is_written_is_the_next_one(folder):
    store = folder.store
    assert 1 == store.put(*changed_row(1))
    assert [2, 3, 4] == [store.put(*changed_row(n)) for n in (2, 3, 4)]
    assert (0, 4) == (store.completed, store.commit_position)
    folder.worker.step()
    assert [1] == folder.completed
    folder.worker.run()
    assert [1, 4] == folder.completed


def test_a_turns_changes_are_one_batch(folder):
    store, woken = folder.store, []
    store.wake = lambda: woken.append(True)
    store.put(*changed_row(1))
    store.remove(*changed_row(1)[:2])
    store.put(*changed_row(2))
    assert (3, 0) == (len(woken), len(folder.worker))
    store.commit()
    store.commit()
    folder.worker.run()
    assert [3] == folder.completed


def test_very_many_rows_are_removed_in_one_batch(folder):
    folder.fill(SAMPLE)
    before = folder.store.commit_position
    assert before + 1 == folder.store.remove_all(list(SAMPLE))
    folder.stop()
    folder.open()
    assert {} == folder.rows


def test_a_name_that_is_no_text_is_refused_before_it_can_do_harm(folder):
    with pytest.raises(ValueError, match="surrogates not allowed"):
        folder.store.put("user", ("\udcff",), {})
    folder.fill(SAMPLE)
    assert len(SAMPLE) == folder.store.completed


def test_clear_forgets_what_was_gathered_too(folder):
    folder.fill({("vhost", ("old",)): {}})
    store = folder.store
    store.wake = lambda: None
    store.put("vhost", ("gathered",), {})
    store.clear()
    store.put("vhost", ("new",), {})
    store.commit()
    folder.worker.run()
    folder.kill()
    folder.open()
    assert {("vhost", ("new",)): {}} == folder.rows


def test_a_snapshot_follows_a_second_after_a_change_and_only_then(folder):
    store = folder.store
    store.put(*changed_row(1))
    folder.worker.run()
    folder.clock.advance(999)
    store.tick()
    assert 0 == len(folder.worker)
    folder.clock.advance(1)
    store.tick()
    folder.worker.run()
    assert 1 == written(folder)
    folder.clock.advance(60_000)
    store.tick()
    assert 0 == len(folder.worker)


def test_a_snapshot_that_is_due_does_not_wait_for_the_last_of_many_batches(folder):
    store = folder.store
    store.put(*changed_row(1))
    folder.worker.run()
    store.put(*changed_row(2))
    folder.clock.advance(5_000)
    store.tick()
    store.put(*changed_row(3))
    folder.worker.step()
    folder.worker.step()
    assert (2, 2) == (store.completed, written(folder))
    folder.worker.run()
    assert 3 == store.completed


def test_a_slow_snapshot_is_made_less_often(folder):
    store = folder.store
    store.put(*changed_row(1))
    folder.worker.run()
    folder.clock.advance(1_000)
    store.tick()
    folder.clock.advance(500)
    folder.worker.run()
    store.put(*changed_row(2))
    folder.worker.run()
    folder.clock.advance(9_999)
    store.tick()
    assert (0, 1) == (len(folder.worker), written(folder))
    folder.clock.advance(1)
    store.tick()
    folder.worker.run()
    assert 2 == written(folder)


def test_a_full_disk_is_tried_again_each_second_and_told_of_once(folder):
    store = folder.store
    file, store._file = store._file, Refusing(store._file, refusal(passing=True))
    store.put(*changed_row(1))
    folder.worker.run()
    store.put(*changed_row(2))
    store.tick()
    folder.worker.run()
    folder.snapshot()
    assert ([], ["cannot write: refused"], "") == (folder.completed, folder.troubles, store.failed)
    store._file = file
    store.tick()
    folder.worker.run()
    assert ([2], ["cannot write: refused", ""]) == (folder.completed, folder.troubles)


def test_a_batch_that_failed_is_overruled_by_what_came_since(folder):
    folder.fill({("vhost", ("old",)): {}})
    store = folder.store
    file, store._file = store._file, Refusing(store._file, refusal(passing=True))
    store.put("vhost", ("v",), {"x": 1})
    folder.worker.run()
    store.clear()
    store.put("vhost", ("w",), {"x": 2})
    store._file = file
    store.tick()
    folder.worker.run()
    folder.stop()
    folder.open()
    assert {("vhost", ("w",)): {"x": 2}} == folder.rows


def test_what_a_full_disk_refuses_does_not_hold_up_the_end(folder):
    store = folder.store
    store._file = Refusing(store._file, refusal(passing=True))
    store.put(*changed_row(1))
    folder.stop()
    assert [] == folder.completed


def test_another_fault_is_the_end(folder):
    store = folder.store
    store._file = Refusing(store._file, refusal(passing=False))
    store.put(*changed_row(1))
    folder.worker.run()
    assert (["cannot write: refused"], "cannot write: refused") == (folder.failures, store.failed)
    store.put(*changed_row(2))
    store.tick()
    folder.clock.advance(5_000)
    store.tick()
    assert 0 == len(folder.worker)
    folder.stop()
    assert [] == folder.completed


def test_a_snapshot_that_cannot_be_written_is_trouble_and_no_more(folder, monkeypatch):
    store = folder.store
    store.put(*changed_row(1))
    folder.worker.run()
    failing = iter([DiskError("write", "definitions.json", 28)])

    def write_file(name, octets):
        for error in failing:
            raise error
        (folder.path / name).write_bytes(octets)

    monkeypatch.setattr(type(store._disk), "write_file", lambda _, *given: write_file(*given))
    folder.clock.advance(5_000)
    store.tick()
    folder.worker.run()
    full = "cannot write definitions.json: No space left on device; the definitions themselves are not affected"
    assert [full] == folder.troubles
    folder.snapshot()
    assert ([full, ""], 1) == (folder.troubles, written(folder))


def test_no_snapshot_is_made_of_damaged_rows(folder):
    folder.fill({changed_row(1)[:2]: {"id": 1}})
    folder.snapshot()
    before = (folder.path / "definitions.json").read_bytes()
    connection = folder.opened.file._connection
    connection.execute("UPDATE queue SET value = '{\"id\":2}'")
    folder.store.put(*changed_row(2))
    folder.worker.run()
    folder.snapshot()
    assert "checksum mismatch" in folder.store.failed
    assert before == (folder.path / "definitions.json").read_bytes()


def test_no_snapshot_is_made_when_a_row_is_lost(folder):
    folder.fill({("vhost", ("v",)): {}, ("vhost", ("w",)): {}})
    folder.opened.file._connection.execute("DELETE FROM vhost WHERE name = 'v'")
    folder.snapshot()
    assert "1 rows do not match the recorded 2" in folder.store.failed
