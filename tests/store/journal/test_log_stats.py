import random

import pytest

from pybroker.store.journal.log_stats import figures
from tests.store.data_folder import DataFolder


@pytest.fixture
def data(tmp_path):
    return DataFolder(tmp_path / "data")


def test_a_log_that_was_never_written_has_nothing(data):
    found = figures(data.node.log)
    assert ("running", 0, 0, 0.0, None) == (
        found["state"],
        found["segment_count"],
        found["octets"],
        found["live_share"],
        found["last_sync_ms_ago"],
    )


def test_what_lives_is_counted_by_segment_and_in_all(data):
    data.busy(random.Random(8), 60)
    data.node.clock.now_ms += 10
    data.node.commit()
    data.node.clock.now_ms += 2_500
    found = figures(data.node.log)
    live = sum(len(messages) for messages in data.expected.values())
    assert live == found["messages_live"] == sum(one["live"] for one in found["segments"])
    assert found["live_share"] == round(live / found["messages_written"], 4)
    assert found["octets"] == sum(one["octets"] for one in found["segments"])
    assert found["last_batch"] == found["last_batch_on_disk"] == data.node.log.last_commit_position
    assert found["uncommitted_octets"] == 0
    assert found["last_sync_ms_ago"] == 2_500
    assert found["checkpoints"] == data.node.log.maintenance.checkpoints


def test_a_log_that_failed_says_why(data):
    data.node.log.fail("cannot sync it: Input/output error")
    found = figures(data.node.log)
    assert ("failed", "cannot sync it: Input/output error") == (found["state"], found["reason"])
