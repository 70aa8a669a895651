"""The folder of the log: made so that a loss of power cannot take it, and nobody else looks into it."""

import stat

from pybroker.store.disk import Disk
from pybroker.store.log_path import PARTS, log_folder, open_log


def test_each_folder_is_ours_alone_and_synced_with_its_name(tmp_path, monkeypatch):
    synced = []
    sync_folder = Disk.sync_folder
    monkeypatch.setattr(Disk, "sync_folder", lambda disk: synced.append(disk.root) or sync_folder(disk))
    log = open_log(Disk(tmp_path))
    assert log.root == log_folder(tmp_path) == tmp_path / "groups" / "local"
    for folder in (tmp_path / PARTS[0], log.root):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.parent in synced


def test_a_folder_that_a_killed_process_made_is_synced_all_the_same(tmp_path, monkeypatch):
    log_folder(tmp_path).mkdir(parents=True)
    synced = []
    monkeypatch.setattr(Disk, "sync_folder", lambda disk: synced.append(disk.root))
    open_log(Disk(tmp_path))
    assert synced == [tmp_path, tmp_path / PARTS[0]]
