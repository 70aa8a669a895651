import pytest

from tests.readers import Bench
from tests.topology import queue as make_queue


@pytest.fixture
def bench() -> Bench:
    return Bench(name="a")


@pytest.fixture
def target(bench):
    return make_queue(bench.vhost, "b")
