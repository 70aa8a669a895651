from itertools import islice

import pytest

from pybroker.control import streaming
from pybroker.control.spec import Refused


def test_more_than_a_batch_is_told_at_once_and_nothing_as_nothing():
    things, pauses = list(range(250)), []

    def take(most):
        found = things[:most]
        del things[:most]
        return found

    assert [200, 50] == [len(batch) for batch in islice(streaming.batches(take, pauses.append, None), 2)]
    assert [] == pauses
    assert [[]] * 11 == list(streaming.batches(take, pauses.append, 1))
    assert [streaming.PAUSE_S] * 10 == pauses


def test_readers_leave_room_for_operators():
    readers = [streaming.batches(lambda _: [], lambda _: None, None) for _ in range(streaming.STREAMS_MAX)]
    for reader in readers:
        next(reader)
    with pytest.raises(Refused) as refused:
        next(streaming.batches(lambda _: [], lambda _: None, None))
    assert refused.value.exit_code == 75
    assert "16 readers of the node's log, events and streams are the maximum" in refused.value.text
    readers.pop().close()
    assert [] == next(streaming.batches(lambda _: [], lambda _: None, None))


def test_the_banner_is_rabbitmqs():
    assert "Streaming logs from node {node} ..." == streaming.banner(None)
    assert "Streaming logs from node {node} for 5 seconds ..." == streaming.banner(5)
