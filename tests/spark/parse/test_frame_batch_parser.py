import pytest

pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")

from hypothesis import example, given, settings, strategies as st

from pybroker.errors import AmqpError, ProtocolSyntaxError
from pybroker.spark.parse import deliveries, frame_batch_parser
from pybroker.spark.parse.deliveries import Deliveries
from pybroker.spark.parse.frame_batch_parser import CONSUMER_TAG, cut
from tests.spark.amqp_octets import FRAME_OCTETS_MAX, HEARTBEAT, cancel, deliver

PROPS = b"\x10\x80\x02\x02id"
END = b"\xce"
MESSAGES = [
    deliver(1, b"first", exchange=b"e", key=b"a.b", props=PROPS),
    deliver(2, b"x" * 3_000, key=b"", redelivered=True),
    deliver(3, b"\xce", exchange=b"e" * 255, key=b"k" * 255),
    deliver(4, b"last", exchange=b"e", key=b"a.b"),
]
ROWS = [
    (b"first", "a.b", "e", False, PROPS),
    (b"x" * 3_000, "", "", True, b"\0\0"),
    (b"\xce", "k" * 255, "e" * 255, False, b"\0\0"),
    (b"last", "a.b", "e", False, b"\0\0"),
]


def rows(batch):
    batch.validate(full=True)
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def test_messages_of_three_frames_are_cut_whatever_their_lengths():
    octets = b"".join(MESSAGES)
    found = cut(END + octets, 1, FRAME_OCTETS_MAX)
    assert rows(found.batch) == ROWS
    assert (found.end, found.last_tag) == (1 + len(octets), 4)


def test_they_may_begin_anywhere():
    octets = END + HEARTBEAT + MESSAGES[0]
    found = cut(octets, 1 + len(HEARTBEAT), FRAME_OCTETS_MAX)
    assert (rows(found.batch), found.end) == (ROWS[:1], len(octets))
    assert cut(octets, 1, FRAME_OCTETS_MAX) is None


@pytest.mark.parametrize(
    "other",
    [
        deliver(9, b""),
        deliver(9, b"x" * 10_000),
        deliver(9, b"x" * 64, step=60),
        deliver(9, b"body")[:-1] + b"\0",
        deliver(9, b"body").replace(b"\xce\x03\0\1", b"\xce\x03\0\2"),
        deliver(9, b"body").replace(b"\xce\x02\0\1", b"\xce\x02\0\2"),
        deliver(9, b"body").replace(b"\0\x3c\0\0\0", b"\0\x3d\0\0\0"),
        deliver(9, b"12345")[:-13],
        cancel(),
        HEARTBEAT,
        CONSUMER_TAG.encode(),
    ],
    ids=[
        *("empty body", "long body", "body of two frames", "no frame-end", "body of another channel"),
        *("header of another channel", "another class", "no body yet", "cancel", "heartbeat", "the tag alone"),
    ],
)
def test_a_run_ends_in_front_of_everything_else(other):
    first = b"".join(MESSAGES[:2])
    found = cut(END + first + other + MESSAGES[2], 1, FRAME_OCTETS_MAX)
    assert (rows(found.batch), found.end, found.last_tag) == (ROWS[:2], 1 + len(first), 2)
    assert cut(END + other, 1, FRAME_OCTETS_MAX) is None


@pytest.mark.parametrize(
    "body", [CONSUMER_TAG.encode(), b"y" + deliver(10, b"not one") + b"z", deliver(10, b"not one")]
)
def test_a_body_with_the_tag_is_taken_for_nothing_else(body):
    octets = deliver(9, body)
    found = cut(END + octets + MESSAGES[2], 1, FRAME_OCTETS_MAX)
    assert (rows(found.batch), found.end) == ([(body, "k", "", False, b"\0\0")], 1 + len(octets))


def test_a_message_that_has_not_come_whole_is_left():
    first = MESSAGES[0]
    for missing in range(1, len(MESSAGES[3])):
        found = cut(END + first + MESSAGES[3][:-missing], 1, FRAME_OCTETS_MAX)
        assert (rows(found.batch), found.end) == (ROWS[:1], 1 + len(first)), missing
        assert cut(END + MESSAGES[3][:-missing], 1, FRAME_OCTETS_MAX) is None, missing


def test_frames_beyond_the_most_are_left():
    found = cut(END + MESSAGES[0] + MESSAGES[1], 1, 2_999)
    assert rows(found.batch) == ROWS[:1]


def test_a_run_has_no_more_than_there_are_numbers_for(monkeypatch):
    monkeypatch.setattr(frame_batch_parser, "_ROWS_MAX", 3)
    found = cut(END + b"".join(MESSAGES), 1, FRAME_OCTETS_MAX)
    assert (rows(found.batch), found.last_tag) == (ROWS[:3], 3)


def test_a_route_that_is_not_well_formed_is_refused():
    with pytest.raises(ProtocolSyntaxError):
        cut(END + deliver(1, b"b").replace(b"\x00\x01k", b"\x00\x02k"), 1, FRAME_OCTETS_MAX)


def outcome(octets, cut_octets_min):
    """Return what comes of octets: methods, rows, last tag; or the error."""
    methods = []
    parsed = Deliveries(FRAME_OCTETS_MAX, 1 << 20, methods.append)
    before, deliveries.CUT_OCTETS_MIN = deliveries.CUT_OCTETS_MIN, cut_octets_min
    try:
        parsed.feed(octets)
        parsed.read()
        return methods, rows(parsed.pop()), parsed.last_tag
    except AmqpError as error:
        return type(error), str(error)
    finally:
        deliveries.CUT_OCTETS_MIN = before


PIECES = st.sampled_from([*MESSAGES, deliver(5, b""), deliver(6, b"two frames", step=6), HEARTBEAT, cancel()])


@settings(max_examples=100, deadline=None)
@example([deliver(6, b"two frames", step=6), MESSAGES[-1], deliver(6, b"two frames", step=6)], [(146, 0), (5009, 105)])
@given(st.lists(PIECES, min_size=1, max_size=6), st.lists(st.tuples(st.integers(0, 8_000), st.integers(0, 255))))
def test_damaged_octets_come_to_the_same_as_one_by_one(pieces, damages):
    octets = bytearray(b"".join(pieces))
    for at, octet in damages:
        octets[at % len(octets)] = octet
    assert outcome(bytes(octets), 0) == outcome(bytes(octets), 1 << 40)
