from collections import deque

import pytest

from pybroker.spark.stream.chunk import Chunk
from pybroker.spark.stream.errors import StreamError
from pybroker.spark.stream.subscription import Subscription


class FakeLink:
    """Delivers what it is given, one chunk a wait."""

    def __init__(self) -> None:
        self.coming: deque[Chunk] = deque()
        self.given: list[int] = []
        self.ended: list[int] = []

    def wait(self, timeout_s, is_done):
        while self.coming and not is_done():
            self.subscription.deliver(self.coming.popleft())

    def give_credit(self, number, chunks):
        self.given.append(chunks)

    def unsubscribe(self, subscription):
        self.ended.append(subscription.id)


@pytest.fixture
def link():
    link = FakeLink()
    link.subscription = Subscription(link, 3, "s", 4)
    return link


def chunk(first: int) -> Chunk:
    return Chunk(first, 1, 0, 1, b"")


def test_credit_is_renewed_when_half_of_it_is_used(link):
    link.coming.extend(map(chunk, range(5)))
    assert [link.subscription.chunk(1.0).first for _ in range(5)] == [0, 1, 2, 3, 4]
    assert link.given == [2, 2]
    assert link.subscription.chunk(1.0) is None


def test_what_came_is_read_before_the_end_is_told(link):
    link.subscription.deliver(chunk(0))
    link.subscription.end(6)
    assert link.subscription.chunk(1.0).first == 0
    with pytest.raises(StreamError, match="'s': the stream is not available"):
        link.subscription.chunk(1.0)


def test_it_ends_with_its_block_unless_that_failed(link):
    with link.subscription:
        pass
    assert link.ended == [3]
    with pytest.raises(KeyError), link.subscription:
        raise KeyError
    link.subscription.end(6)
    with link.subscription:
        pass
    assert link.ended == [3]
