"""The reader hands frames over, whole, whatever the pieces they come in."""

import pytest
from hypothesis import given, strategies as st

from pybroker.client.errors import ChannelError
from pybroker.client.transport.backpressure import Backpressure
from pybroker.client.transport.reader import Reader, Receiver
from pybroker.wire.frame import HEARTBEAT_FRAME, frame

FRAMES = (
    frame(1, 1, b"\0\x0a\0\x0b") + HEARTBEAT_FRAME + frame(2, 2, bytes(14)) + frame(3, 2, b"body") + frame(3, 1, b"")
)
EXPECTED = [(1, 1, b"\0\x0a\0\x0b"), (2, 2, bytes(14)), (3, 2, b"body"), (3, 1, b"")]


class Remembering(Receiver):
    def __init__(self, number, seen):
        self.number = number
        self.seen = seen

    def receive_method(self, payload):
        self.seen.append((1, self.number, payload))

    def receive_header(self, payload):
        self.seen.append((2, self.number, payload))

    def receive_body(self, payload):
        self.seen.append((3, self.number, payload))


class FakeStream:
    """Gives its pieces one by one, then raises or ends."""

    def __init__(self, pieces, last=b""):
        self.pieces = [*pieces, last]

    def receive(self):
        piece = self.pieces.pop(0)
        if isinstance(piece, Exception):
            raise piece
        return piece


class FakeWriter:
    heard_s = 0.0


def read(pieces, last=b"", receivers=None, rest=b""):
    """Return what the receivers saw, and the reason of the end."""
    seen, reasons = [], []
    made = {number: Remembering(number, seen) for number in (0, 1, 2)} if receivers is None else receivers
    reader = Reader(
        FakeStream(pieces, last),
        FakeWriter(),
        made,
        Backpressure(),
        reasons.append,
        frame_octets_max=4_096,
        rest=rest,
        name="",
    )
    reader._run()
    (reason,) = reasons
    return seen, reason


@given(st.lists(st.integers(1, len(FRAMES) - 1), unique=True).map(sorted))
def test_frames_are_the_same_in_whatever_pieces_they_come(cuts):
    pieces = [FRAMES[a:b] for a, b in zip([0, *cuts], [*cuts, len(FRAMES)], strict=True)]
    seen, reason = read(pieces)
    assert seen == EXPECTED
    assert str(reason) == "the broker closed the connection"


def test_what_came_with_the_handshake_comes_first():
    assert read([FRAMES[20:]], rest=FRAMES[:20])[0] == EXPECTED


def test_g28_whatever_goes_wrong_in_here_is_a_reason_and_no_silence():
    class Failing(Remembering):
        def receive_method(self, payload):
            raise ZeroDivisionError("oh")

    _, reason = read([FRAMES], receivers={1: Failing(1, [])})
    assert str(reason) == "the reader failed: ZeroDivisionError('oh')"


@pytest.mark.parametrize(
    ("last", "text"), [(OSError("broken"), "the connection broke: broken"), (b"", "the broker closed the connection")]
)
def test_the_end_of_the_socket_is_a_reason(last, text):
    assert str(read([], last)[1]) == text


def test_a_frame_for_nobody_is_an_error():
    _, reason = read([frame(3, 5, b"x")])
    assert type(reason) is ChannelError


def test_a_receiver_owes_nothing_unless_it_says_so():
    assert not Receiver().awaits()
    for name in ("receive_method", "receive_header", "receive_body"):
        with pytest.raises(NotImplementedError):
            getattr(Receiver(), name)(b"")
