"""The C twin of the loop of `Deliveries`. Under the address and undefined behaviour sanitizers:

    cc -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -shared -fPIC \
        $(python3-config --includes) pybroker/spark/parse/_deliveries.c -o pybroker/spark/parse/_deliveries.abi3.so
    LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
        ASAN_OPTIONS=detect_leaks=0 python -m pytest -m "" tests/spark/parse
"""

import sys

import pytest

pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")

from hypothesis import example, given, settings, strategies as st

from pybroker.errors import AmqpError, ProtocolSyntaxError
from pybroker.spark.parse import deliveries, frame_batch_parser
from pybroker.spark.parse.deliveries import Deliveries
from pybroker.spark.parse.frame_batch_parser import CHANNEL, CONSUMER_TAG, CUTS, DELIVER_TO_US, cut
from tests.spark.amqp_octets import FRAME_OCTETS_MAX, HEARTBEAT, cancel, deliver

pytestmark = pytest.mark.skipif(not CUTS, reason="pybroker/spark/parse/_deliveries.c was not built")

PROPS = b"\x10\x80\x02\x02id"
END = b"\xce"
MESSAGES = [
    deliver(1, b"first", exchange=b"e", key=b"a.b", props=PROPS),
    deliver(2, b"x" * 3_000, key=b"", redelivered=True),
    deliver(3, b"\xce", exchange=b"e" * 255, key=b"k" * 255),
    deliver(4, b"last", exchange=b"e", key=b"a.b"),
    deliver(5, b"", key=b"none", props=PROPS),
]
ROWS = [
    (b"first", "a.b", "e", False, PROPS),
    (b"x" * 3_000, "", "", True, b"\0\0"),
    (b"\xce", "k" * 255, "e" * 255, False, b"\0\0"),
    (b"last", "a.b", "e", False, b"\0\0"),
    (b"", "none", "", False, PROPS),
]


def rows(batch):
    batch.validate(full=True)
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def test_messages_of_three_frames_are_cut_whatever_their_lengths():
    octets = b"".join(MESSAGES)
    found = cut(END + octets, 1, FRAME_OCTETS_MAX)
    assert rows(found.batch) == ROWS
    assert (found.end, found.last_tag) == (1 + len(octets), 5)


def test_they_may_begin_anywhere():
    octets = END + HEARTBEAT + MESSAGES[0]
    found = cut(octets, 1 + len(HEARTBEAT), FRAME_OCTETS_MAX)
    assert (rows(found.batch), found.end) == (ROWS[:1], len(octets))
    assert cut(octets, 1, FRAME_OCTETS_MAX) is None


@pytest.mark.parametrize(
    "other",
    [
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
        *("long body", "body of two frames", "no frame-end", "body of another channel"),
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
    assert (rows(found.batch), found.end) == ([(body, "k", "", False, b"\0\0"), ROWS[2]], 1 + len(octets + MESSAGES[2]))


def test_a_message_that_has_not_come_whole_is_left():
    first = MESSAGES[0]
    for missing in range(1, len(MESSAGES[3])):
        found = cut(END + first + MESSAGES[3][:-missing], 1, FRAME_OCTETS_MAX)
        assert (rows(found.batch), found.end) == (ROWS[:1], 1 + len(first)), missing
        assert cut(END + MESSAGES[3][:-missing], 1, FRAME_OCTETS_MAX) is None, missing


def test_frames_beyond_the_most_are_left():
    found = cut(END + MESSAGES[0] + MESSAGES[1], 1, 2_999)
    assert rows(found.batch) == ROWS[:1]


def test_a_length_of_no_limit_reaches_to_the_end_of_what_there_is():
    found = cut(END + MESSAGES[0] + MESSAGES[1], 1, 0)
    assert rows(found.batch) == ROWS[:2]
    for length in (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"):
        octets = bytearray(END + MESSAGES[0])
        octets[4:8] = length
        assert cut(bytes(octets), 1, 0) is None


def test_what_makes_no_sense_is_refused():
    from pybroker.spark.parse import _deliveries

    for at, octets_max in ((-1, 0), (2, 0), (0, -1)):
        with pytest.raises(ValueError, match="a position within the octets"):
            _deliveries.cut(b"x", at, octets_max, DELIVER_TO_US, CHANNEL)
    with pytest.raises(TypeError):
        _deliveries.cut("x", 0, 0, DELIVER_TO_US, CHANNEL)


def test_a_module_built_for_another_interface_is_not_used(monkeypatch):
    assert frame_batch_parser._choose() is not None
    with monkeypatch.context() as patch:
        patch.setattr(frame_batch_parser, "SEAM", frame_batch_parser.SEAM + 1)
        assert frame_batch_parser._choose() is None
    with monkeypatch.context() as patch:
        patch.setenv("PYBROKER_PURE", "1")
        assert frame_batch_parser._choose() is None
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pybroker.spark.parse._deliveries", None)
        patch.delattr("pybroker.spark.parse._deliveries", raising=False)
        assert frame_batch_parser._choose() is None


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
@example([deliver(6, b"two frames", step=6), MESSAGES[3], deliver(6, b"two frames", step=6)], [(146, 0), (5009, 105)])
@given(st.lists(PIECES, min_size=1, max_size=6), st.lists(st.tuples(st.integers(0, 8_000), st.integers(0, 255))))
def test_damaged_octets_come_to_the_same_as_one_by_one(pieces, damages):
    octets = bytearray(b"".join(pieces))
    for at, octet in damages:
        octets[at % len(octets)] = octet
    assert outcome(bytes(octets), 0) == outcome(bytes(octets), 1 << 40)
