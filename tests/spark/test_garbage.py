import gc

import pytest

from pybroker.spark.garbage import spare_imports


@pytest.fixture(autouse=True)
def _nothing_is_spared():
    spare_imports.cache_clear()
    yield
    gc.unfreeze()


def test_what_was_imported_is_left_out_of_collections():
    spare_imports()
    assert gc.get_freeze_count() > 10_000
    assert len(gc.get_objects()) < 10_000


def test_later_tasks_leave_theirs_to_be_collected():
    spare_imports()
    kept = [[] for _ in range(1000)]
    spare_imports()
    assert len(gc.get_objects()) >= len(kept)
