def test_streams_are_listed_and_no_other_queues(operator, world, peer, publish):
    peer.declare("q")
    assert operator.list("list_streams", "name", "messages", "oldest", "readers", "slowest_lag") == [
        ["s", 0, "", 0, ""]
    ]
    publish(b"a")
    before_ms = world.clock.timestamp_ms
    world.advance(60_000)
    publish(b"b", b"c")
    row = operator.list("list_streams", "name", "messages", "first_offset", "next_offset", "oldest_ms", "newest_ms")
    assert row == [["s", 3, 0, 3, before_ms, before_ms + 60_000]]
    operator.ask("stream_truncate", stream="s", before="1")
    assert operator.list("list_streams", "messages", "first_offset", "oldest_ms") == [[2, 1, before_ms + 60_000]]


def test_the_slowest_reader_is_told(operator, publish, consume):
    publish(*(b"%d" % number for number in range(10)))
    consume("fast", 10)
    consume("slow", 2)
    assert operator.list("list_streams", "readers", "slowest_lag", "slowest_tag") == [[2, 8, "slow"]]


def test_the_usual_columns(operator, publish):
    publish(b"a")
    (row,) = operator.list("list_streams")
    assert row[:4] == ["s", 1, 0, 1]
    assert row[-2:] == [0, ""]
