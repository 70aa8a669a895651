import gc

import pytest

from pybroker.spark.garbage import spare_imports


@pytest.fixture(autouse=True)
def _nothing_is_spared():
    before = gc.get_freeze_count()
    gc.unfreeze()
    yield
    gc.unfreeze()
    if before:
        gc.freeze()


def test_what_was_imported_is_left_out_of_collections():
    spare_imports()
    assert gc.get_freeze_count() > 10_000
    assert len(gc.get_objects()) < 10_000


def test_later_tasks_leave_theirs_to_be_collected():
    spare_imports()
    frozen = gc.get_freeze_count()
    kept = [[] for _ in range(1000)]
    spare_imports()
    assert gc.get_freeze_count() <= frozen
    assert len(kept) == 1000
