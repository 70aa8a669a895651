import pytest

from pybroker.core.events.cause import BROKER
from pybroker.core.policy.limits import QueueLimits
from pybroker.errors import AccessRefused


@pytest.fixture
def spread(world, stream, fill):
    """A stream with a message an hour: some of them moved into files, the last ones still in memory alone."""
    for number in range(6):
        fill(stream, b"%d" % number)
        world.advance(3_600_000)
    return stream


def found(stream, timestamp_ms):
    answers = []
    stream.find(timestamp_ms, answers.append)
    return answers


def test_a_time_is_the_first_message_that_is_not_older(world, spread):
    oldest = spread.oldest_ms
    assert spread.newest_ms == oldest + 5 * 3_600_000
    for number in range(6):
        assert found(spread, oldest + number * 3_600_000) == [number]
        assert found(spread, oldest + number * 3_600_000 - 1) == [number]
    assert found(spread, spread.newest_ms + 1) == [6]
    assert found(spread, 0) == [0]


def test_an_empty_stream_has_no_times(stream):
    assert (stream.oldest_ms, stream.newest_ms, found(stream, 5)) == (0, 0, [0])


def test_what_was_truncated_is_no_time_of_it(world, spread):
    oldest = spread.oldest_ms
    spread.truncate(3, lambda _: None)
    world.advance(120_000)
    assert spread.first_offset == 3
    assert spread.oldest_ms == oldest + 3 * 3_600_000
    assert found(spread, 0) == [3]
    spread.truncate(6, lambda _: None)
    world.advance(120_000)
    assert (spread.messages, spread.oldest_ms, spread.newest_ms) == (0, 0, 0)


def test_what_other_limits_would_remove_is_known(world, spread):
    world.advance(120_000)  # all has moved
    limits = QueueLimits(queue_type="stream", age_max_ms=3 * 3_600_000)
    assert spread.surplus(limits) == 4
    assert spread.surplus(QueueLimits(queue_type="stream")) == 0
    spread.set_limits(limits)
    world.advance(10_000)
    assert (spread.first_offset, spread.surplus(limits)) == (4, 0)


def test_messages_are_for_those_who_may_read(world, stream, fill):
    fill(stream, b"a")
    world.broker.users.add("u", "u", ())
    world.broker.users.set_permissions("u", "/", "", "", "^other$", cause=BROKER)
    with pytest.raises(AccessRefused, match="read access to queue 's'"):
        stream.documents(world.broker.users.acting("u"), lambda _: None, start=0)
    batches = stream.documents(world.broker.users.acting("guest"), lambda _: None, start=0)
    assert [one["body"] for batch in batches for one in batch] == ["a"]
