import pytest

from pybroker.client.errors import CallTimeout
from pybroker.spark.stream.errors import StreamError
from pybroker.spark.stream.publisher import Publisher
from pybroker.wire.stream.entries import scan


class FakeLink:
    """Takes frames; confirms as many messages a wait as it is told."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.confirms = 0

    def send_octets(self, octets):
        self.frames.append(octets)

    def wait(self, timeout_s, is_done):
        while self.confirms and self.publisher.open and not is_done():
            self.publisher.confirmed(min(self.confirms, self.publisher.open))

    @property
    def published(self) -> list[list[int]]:
        """The ids of each frame."""
        found = []
        for octets in self.frames:
            ids = scan(octets, 0, len(octets)).ids
            found.append([int.from_bytes(ids[at : at + 8]) for at in range(0, len(ids), 8)])
        return found


@pytest.fixture
def link():
    link = FakeLink()
    link.publisher = Publisher(link, 1, "s", 41, 200, 10)
    return link


def test_frames_have_consecutive_ids_and_are_small_enough(link):
    link.publisher.publish(42, [b"x" * 50] * 7, 1.0)
    assert link.published == [[42, 43, 44], [45, 46, 47], [48]]
    assert max(map(len, link.frames)) <= 204
    assert link.publisher.open == 7


def test_a_message_that_fills_a_frame_goes_alone(link):
    link.publisher.publish(1, [b"x" * 500, b"y", b"z"], 1.0)
    assert link.published == [[1], [2, 3]]


def test_it_waits_while_many_are_open(link):
    link.confirms = 4
    link.publisher.publish(1, [b"x"] * 25, 1.0)
    assert link.publisher.open <= 10
    assert [number for ids in link.published for number in ids] == list(range(1, 26))
    link.publisher.settle(1.0)
    assert link.publisher.open == 0


def test_confirms_that_do_not_come_are_told(link):
    link.publisher.publish(1, [b"x"], 1.0)
    with pytest.raises(CallTimeout, match="1 messages to stream 's'"):
        link.publisher.settle(0.0)


def test_a_refusal_is_told_with_its_code(link):
    link.publisher.publish(1, [b"x"], 1.0)
    link.publisher.refused(1, 17)
    with pytest.raises(StreamError, match="code 17"):
        link.publisher.settle(1.0)


def test_nothing_is_sent_to_a_stream_that_is_gone(link):
    link.publisher.end(6)
    with pytest.raises(StreamError, match="code 6"):
        link.publisher.publish(1, [b"x"], 1.0)
    assert not link.frames
