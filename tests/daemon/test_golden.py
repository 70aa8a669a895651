"""Data folders of every version that ever was are opened, and have in them what they had (pybroker-store(5))."""

import json
import shutil
from pathlib import Path

import pytest

from tests.daemon.running import Running
from tests.golden.make import HERE, OPTIONS, look

FOLDERS = sorted(path for path in HERE.glob("*/*") if path.is_dir())


@pytest.mark.parametrize("golden", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_folder_of_any_version_has_what_it_had(golden: Path, tmp_path: Path):
    shutil.copytree(golden, tmp_path / "data")
    running = Running(tmp_path, *OPTIONS)
    try:
        found = look(running)
    finally:
        assert running.stop() == (0, "")
    assert found == json.loads(golden.with_suffix(".json").read_text())
    assert "ERROR" not in running.log.upper()
    assert "WARNING" not in running.log.upper()


def test_there_is_a_folder_of_this_version():
    from pybroker.store.format import VERSION

    assert {path.name for path in FOLDERS if path.parent.name == str(VERSION)} == {"clean", "killed"}
