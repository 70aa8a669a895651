import pytest

from pybroker.control.spec import EX_DATAERR, BadArguments, Refused
from pybroker.store.disk import DiskError


def test_messages_before_an_offset_go(operator, publish, stream):
    publish(*(b"%d" % number for number in range(10)))
    answer = operator.ask("stream_truncate", stream="s", before="4")
    assert (answer["messages"], answer["first_offset"], answer["next_offset"]) == (4, 4, 10)
    assert answer["message"] == "4 messages removed; the first offset is 4"
    assert (stream.first_offset, stream.messages) == (4, 6)
    found = [one["offset"] for batch in operator.stream("stream_read", stream="s") for one in batch]
    assert found == list(range(4, 10))
    again = operator.ask("stream_truncate", stream="s", before="4")
    assert again["message"] == "0 messages removed; the first offset is 4"


def test_messages_before_a_time_go(operator, world, publish, stream):
    publish(b"a")
    world.advance(86_400_000)
    publish(b"b", b"c")
    assert operator.ask("stream_truncate", stream="s", before="1h")["first_offset"] == 1
    assert stream.first_offset == 1


def test_a_dry_run_changes_nothing(operator, publish, stream):
    publish(b"a", b"b")
    answer = operator.ask("stream_truncate", stream="s", before="2", dry_run=True)
    assert answer["message"] == "2 messages would go; the first offset would be 2"
    assert (answer["dry_run"], stream.first_offset) == (True, 0)


def test_the_whole_stream_may_go(operator, publish, stream):
    publish(b"a", b"b")
    operator.ask("stream_truncate", stream="s", before="2")
    assert (stream.messages, stream.next_offset) == (0, 2)
    publish(b"c")
    assert stream.first_offset == 2


def test_offsets_that_are_not_there_yet_are_refused(operator, publish):
    publish(b"a")
    with pytest.raises(Refused, match="stream 's' has no offset 7: its next message has offset 1") as refused:
        operator.ask("stream_truncate", stream="s", before="7")
    assert refused.value.exit_code == EX_DATAERR


def test_a_disk_that_fails_is_told(operator, publish, stream, monkeypatch):
    publish(b"a")
    monkeypatch.setattr(type(stream), "truncate", lambda _, offset, done: done(DiskError("write", "s", 28)))
    with pytest.raises(Refused, match="the disk fails for stream 's': "):
        operator.ask("stream_truncate", stream="s", before="1")


@pytest.mark.parametrize("before", ["", "-1", "first", "x"])
def test_what_is_no_place_is_refused(operator, before):
    with pytest.raises(BadArguments, match="--before: expected OFFSET"):
        operator.ask("stream_truncate", stream="s", before=before)
