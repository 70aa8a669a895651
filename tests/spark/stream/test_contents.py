from pybroker.spark.stream.contents import contents_of, each_front, key_of
from pybroker.wire.amqp10.front import Origin
from tests.spark.stream.conftest import encoded


def test_neighbours_share_what_is_in_front_of_them():
    bodies, groups = contents_of([encoded(b"a"), encoded(b"b"), b"no message", encoded(b"c")])
    assert bodies == [b"a", b"b", b"no message", b"c"]
    assert sum(alike for _, alike in groups) == 4
    fronts = list(each_front(groups))
    assert len(fronts) == 4
    assert fronts[0] is fronts[1]
    assert contents_of([]) == ([], [])


def test_a_message_of_a_stream_client_has_the_streams_name_as_key():
    assert key_of(Origin(None, None), "s") == "s"
    assert key_of(Origin("", ""), "s") == ""
