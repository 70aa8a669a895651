import pytest
from hypothesis import given, settings, strategies as st

from pybroker.errors import AmqpError, FrameError, ProtocolSyntaxError
from pybroker.spark.parse import deliveries
from pybroker.spark.parse.deliveries import Deliveries
from pybroker.spark.route import Route
from tests.spark.amqp_octets import FRAME_OCTETS_MAX, HEARTBEAT, cancel, deliver

PROPS = b"\x10\x80\x02\x02id"
OCTETS = b"".join(
    [
        deliver(1, b"first", exchange=b"e", key=b"a.b", props=PROPS),
        deliver(2, b"", key=b"a.b"),
        HEARTBEAT,
        deliver(3, b"second", exchange=b"e", key=b"a.b", redelivered=True),
        deliver(4, b"x" * 10_000, key=b"long"),
        deliver(5, b"\xce" * 30, key=b"long", props=PROPS),
        cancel(),
        deliver(6, b"last", key=b""),
    ]
)
EXPECTED = [
    (b"first", PROPS, Route("e", "a.b", False)),
    (b"", b"\0\0", Route("", "a.b", False)),
    (b"second", b"\0\0", Route("e", "a.b", True)),
    (b"x" * 10_000, b"\0\0", Route("", "long", False)),
    (b"\xce" * 30, PROPS, Route("", "long", False)),
    (b"last", b"\0\0", Route("", "", False)),
]


def parser(methods=None, body_octets_max=1 << 20):
    return Deliveries(FRAME_OCTETS_MAX, body_octets_max, (methods if methods is not None else []).append)


@pytest.fixture(autouse=True, params=["many at once", "one by one"])
def way(request, monkeypatch):
    """Read all octets both ways, and say which: what comes out must not tell which it was."""
    if request.param == "many at once" and not deliveries.CUTS:
        pytest.skip("pybroker/spark/parse/_deliveries.c was not built")
    monkeypatch.setattr(
        deliveries, *(("CUT_OCTETS_MIN", 0) if request.param == "many at once" else ("CUT_OCTETS_MAX", 0))
    )
    return request.param


def rows(parsed):
    parsed.read()
    batch = parsed.pop()
    assert batch.validate(full=True) is None
    columns = (batch.column(name).to_pylist() for name in ("exchange", "routing_key", "redelivered"))
    routes = [Route(*values) for values in zip(*columns, strict=True)]
    return list(zip(batch.column("value").to_pylist(), batch.column("properties").to_pylist(), routes, strict=True))


def test_messages_come_out_in_columns():
    methods = []
    parsed = parser(methods)
    parsed.feed(OCTETS)
    assert parsed.is_unread
    parsed.read()
    assert not parsed.is_unread
    assert len(parsed) == 6
    assert parsed.last_tag == 6
    assert rows(parsed) == EXPECTED
    assert [method[:4] for method in methods] == [b"\0\x3c\0\x1e"]
    assert (len(parsed), parsed.octets) == (0, 0)


def test_it_does_not_matter_where_a_read_ends(way):
    # Every octet of everything around the long body, and some inside it; fewer where a cut is made first, as what
    # that leaves is read one by one.
    step = 1 if way == "one by one" else 17
    for cut in [*range(500), *range(500, len(OCTETS) - 400, 1_997), *range(len(OCTETS) - 400, len(OCTETS))][::step]:
        parsed = parser()
        parsed.feed(OCTETS[:cut])
        parsed.read()
        parsed.feed(OCTETS[cut:])
        assert rows(parsed) == EXPECTED, cut
        assert parsed.last_tag == 6


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 700), min_size=1, max_size=40))
def test_it_does_not_matter_into_how_many_reads_it_falls(sizes):
    parsed = parser()
    at, turn = 0, 0
    while at < len(OCTETS):
        size = sizes[turn % len(sizes)]
        parsed.feed(OCTETS[at : at + size])
        parsed.read()
        at += size
        turn += 1
    assert rows(parsed) == EXPECTED


def test_octet_by_octet():
    parsed = parser()
    for at in range(len(OCTETS)):
        parsed.feed(OCTETS[at : at + 1])
        parsed.read()
    assert rows(parsed) == EXPECTED


def test_a_tag_of_the_message_that_came_whole_is_told_not_of_one_that_did_not():
    parsed = parser()
    parsed.feed(deliver(7, b"whole") + deliver(8, b"part")[:-1])
    parsed.read()
    assert (parsed.last_tag, len(parsed)) == (7, 1)
    parsed.feed(b"\xce")
    parsed.read()
    assert (parsed.last_tag, len(parsed)) == (8, 2)


def test_names_that_are_not_utf8_do_not_stand_in_the_way():
    for step in (FRAME_OCTETS_MAX - 8, 2):
        parsed = parser()
        parsed.feed(deliver(1, b"body", key=b"\xff\xfe", step=step))
        assert rows(parsed) == [(b"body", b"\0\0", Route("", "��", False))]


def test_more_routes_than_are_remembered(monkeypatch):
    monkeypatch.setattr(deliveries, "ROUTES_MAX", 3)
    parsed = parser()
    for turn in range(4):
        parsed.feed(b"".join(deliver(n, b"b", key=b"%d" % (10 * turn + n)) for n in range(1, 10)))
        assert [route.routing_key for _, _, route in rows(parsed)] == [str(10 * turn + n) for n in range(1, 10)]


def test_a_message_of_any_length_of_key():
    for length in (0, 1, 127, 255):
        parsed = parser()
        parsed.feed(deliver(1, b"b", key=b"k" * length, exchange=b"e" * 255))
        assert rows(parsed)[0][2] == Route("e" * 255, "k" * length, False)


@pytest.mark.parametrize(
    ("octets", "error"),
    [
        (b"\x01\x00\x01\x00\x10\x00\x00" + b"x" * 20, FrameError),
        (deliver(1, b"body")[:-1] + b"\0", FrameError),
        (deliver(1, b"12345")[:-13] + deliver(2, b"y"), AmqpError),
        (deliver(1, b"x" * 64, step=60), FrameError),
        (deliver(1, b"b").replace(b"\x00\x01k", b"\x00\x02k"), ProtocolSyntaxError),
    ],
    ids=["frame too long", "no frame-end", "method inside a content", "body too long", "key longer than the frame"],
)
def test_what_is_no_amqp_is_refused(octets, error):
    parsed = parser(body_octets_max=63)
    parsed.feed(octets)
    with pytest.raises(error):
        parsed.read()
