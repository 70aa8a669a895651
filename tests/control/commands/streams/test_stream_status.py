import pytest

from pybroker.control.spec import Refused
from tests.control.made_stream import make_stream


def test_offsets_files_and_limits(operator, world, peer):
    make_stream(world, "s", octets_max=5_000, age_max_ms=60_000, segment_octets_max=10_000)
    document = operator.ask("stream_status", stream="s")
    assert (document["messages"], document["oldest"], document["readers"]) == (0, None, [])
    assert (document["max_length_bytes"], document["max_age_ms"], document["max_segment_size_bytes"]) == (
        5_000,
        60_000,
        10_000,
    )
    peer.publish("", "s", b"a")
    peer.publish("", "s", b"b")
    document = operator.ask("stream_status", stream="s")
    assert (document["first_offset"], document["last_chunk_offset"], document["next_offset"]) == (0, 1, 2)
    assert document["oldest"] <= document["newest"]


def test_the_size_of_segments_without_an_argument(operator, world):
    make_stream(world, "s")
    make_stream(world, "bounded", octets_max=80_000)
    sizes = [operator.ask("stream_status", stream=name)["max_segment_size_bytes"] for name in ("s", "bounded")]
    assert sizes == [500_000_000, 10_000]


def test_a_pause_is_told(operator, stream):
    assert operator.ask("stream_status", stream="s")["paused"] is None
    operator.ask("pause_queue", queue="s", why="a look")
    paused = operator.ask("stream_status", stream="s")["paused"]
    assert (paused["what"], paused["why"]) == ("publish,consume", "a look")


def test_consumers_the_slowest_first(operator, peer, publish, consume):
    publish(*(b"%d" % number for number in range(10)))
    consume("fast", 10)
    consume("slow", 2)
    slow, fast = operator.ask("stream_status", stream="s")["readers"]
    assert (slow["consumer_tag"], slow["lag"], slow["next_offset"], slow["unacknowledged"]) == ("slow", 8, 2, 2)
    assert (fast["consumer_tag"], fast["lag"], fast["prefetch_count"], fast["skipped"]) == ("fast", 0, 10, 0)
    assert (fast["channel"], fast["connection_pid"], fast["user"]) == (1, peer.session.pid, "guest")


def test_another_queue_is_refused(operator, peer):
    peer.declare("q")
    with pytest.raises(Refused, match="not a stream"):
        operator.ask("stream_status", stream="q")
