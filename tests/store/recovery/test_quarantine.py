"""Octets that are damaged are kept, and what is lost with them is said."""

import pytest

from pybroker.store import format as fmt
from pybroker.store.disk import Disk
from pybroker.store.recovery.quarantine import QUARANTINE, quarantine
from pybroker.store.segments.scan import Damaged
from tests.store.journals import Node, open_segment


@pytest.fixture
def disk(tmp_path):
    disk = Disk(tmp_path)
    node = Node(disk)
    node.publish([b"a"])
    node.commit()
    return disk


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (fmt.PUBLISH, "PUBLISH: messages in it are lost"),
        (fmt.SETTLE, "SETTLE: acknowledged messages may be delivered again"),
        (fmt.BATCH, "BATCH: nothing is lost"),
        (0, "unknown: its contents are unknown"),
    ],
)
def test_it_is_kept_by_segment_and_offset(kind, said, disk):
    file = open_segment(disk)
    told = quarantine(disk, file, Damaged(64, 10, kind))
    assert told == f"the log is damaged: segment 1, 10 octets at 64, {said}, kept as quarantine/{1:016x}.40"
    assert disk.below(QUARANTINE).read_file(f"{1:016x}.40") == file.read(64, 10)
    file.close()


def test_what_is_missing_cannot_be_kept(disk):
    file = open_segment(disk)
    assert "kept" not in quarantine(disk, file, Damaged(64, 0, fmt.PUBLISH))
    assert QUARANTINE not in [path.name for path in disk.root.iterdir()]
    file.close()
