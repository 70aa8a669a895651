import pytest

from pybroker.store.disk import Disk
from tests.store.faulty_disk import FaultyDisk
from tests.store.streams.lives import MESSAGES, Life


@pytest.fixture(params=["real", "faulty"])
def life(request, tmp_path):
    """A stream of many segments."""
    life = Life(Disk(tmp_path) if request.param == "real" else FaultyDisk())
    life.fill(MESSAGES, 5, segment_octets=1_500)
    return life
