"""Browses of a stream, in memory and on disk, forwards and backwards."""

import pytest

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.queue.browse import shown
from pybroker.core.queue.browse.document import time_text
from pybroker.core.stream import browse as module
from pybroker.store.disk import DiskError
from tests.core.stream.conftest import SlowFiles
from tests.entries import entries_run


@pytest.fixture
def stream(world, make_stream):
    """Ten messages; the first six are in the files alone."""
    made = make_stream()
    peer = world.connect()
    for number in range(6):
        peer.publish("", "s", b"%d" % number, headers={"even": not number % 2})
    world.run()
    made.streams.move(made)
    world.run()
    assert made.files.next_offset == 6
    for number in range(6, 10):
        peer.publish("", "s", b"%d" % number, headers={"even": not number % 2})
    world.run()
    return made


def seen(stream, pause=lambda _: None, **wish):
    return [one["seq"] for some in stream.peek(None, pause, **wish) for one in some]


@pytest.mark.parametrize(
    ("wish", "offsets"),
    [
        ({}, [*range(10)]),
        ({"messages_max": 3}, [0, 1, 2]),
        ({"start": "tail"}, [*range(9, -1, -1)]),
        ({"newest_first": True, "messages_max": 2}, [9, 8]),
        ({"start": (0, 4), "messages_max": 3}, [4, 5, 6]),
        ({"start": (0, 4), "newest_first": True}, [4, 3, 2, 1, 0]),
        ({"start": (0, 99)}, []),
        ({"start": (0, 99), "newest_first": True, "messages_max": 1}, [9]),
        ({"headers": [("even", "true")], "messages_max": 4}, [0, 2, 4, 6]),
        ({"text": "7"}, [7]),
        ({"states": ("ready", "unacknowledged"), "messages_max": 1}, [0]),
        ({"states": ("delayed",)}, []),
    ],
)
@pytest.mark.parametrize("window", [1, 3, 256])
def test_messages_are_shown_by_their_offsets(monkeypatch, stream, wish, offsets, window):
    monkeypatch.setattr(module, "WINDOW_MESSAGES", window)
    assert offsets == seen(stream, **wish)


def test_a_document_tells_of_a_message_as_of_a_queues(stream):
    ((one,),) = (some for some in stream.peek(None, lambda _: None, start=(0, 3), messages_max=1) if some)
    assert (one["position"], one["body"], one["state"], one["redelivered"]) == ("3", "3", "ready", False)
    assert one["expires_at"] is None


@pytest.mark.parametrize("start", [0, 9])
def test_messages_on_disk_and_in_memory_have_the_time_of_their_arrival(world, stream, start):
    clock = world.broker.clock
    world.advance(5_000)
    ((one,),) = (some for some in stream.peek(None, lambda _: None, start=(0, start), messages_max=1) if some)
    assert 5_000 <= one["age_ms"] < 10_000
    assert one["arrived_at"] == time_text(clock.timestamp_ms - one["age_ms"])


def test_what_comes_meanwhile_is_not_shown(world, stream):
    browsed = stream.peek(None, lambda _: None)
    found = [one["seq"] for one in next(browsed)]
    world.connect().publish("", "s", b"late")
    world.run()
    found += [one["seq"] for some in browsed for one in some]
    assert found == [*range(10)]


def test_others_go_on_while_the_disk_is_asked(make_stream, world):
    files = SlowFiles()
    stream = make_stream(files)
    world.connect().publish("", "s", b"x")
    world.run()
    stream.streams.move(stream)
    files.run()
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        files.run()

    assert seen(stream, pause) == [0]
    stream.pieces.forget(stream.files.next_offset)
    assert seen(stream, pause) == [0]
    assert module.PAUSE_S in pauses


def test_messages_that_cannot_be_read_are_left_out(make_stream, world, caplog):
    files = SlowFiles()
    stream = make_stream(files)
    world.connect().publish("", "s", b"x")
    world.run()
    stream.streams.move(stream)
    files.run()
    stream.pieces.forget(stream.files.next_offset)
    files.error = DiskError("cannot read", "1.log", 5)
    assert seen(stream, lambda _: files.run()) == seen(stream, lambda _: files.run(), start="tail") == []
    assert "cannot read stream 's'" in caplog.text


def test_what_is_in_memory_is_shown_behind_what_cannot_be_read(monkeypatch, stream):
    monkeypatch.setattr(stream.files, "read", lambda _offset, _octets_max, done: done([]))
    assert seen(stream) == [*range(6, 10)]


def test_a_stream_that_is_deleted_meanwhile_ends_it(monkeypatch, stream):
    monkeypatch.setattr(module, "WINDOW_MESSAGES", 8)
    monkeypatch.setattr(shown, "BATCH_DOCUMENTS", 8)
    browsed = stream.peek(None, lambda _: None, start="tail")
    next(browsed)
    stream.deleted = True
    assert [one for some in browsed for one in some] == []


def test_entries_are_shown_as_contents(make_stream, monkeypatch):
    made = make_stream()
    for number in range(3):
        made.publish_entries(entries_run(0, *[b"%d" % (4 * number + i) for i in range(4)]), NO_RECEIPT)
    monkeypatch.setattr(module, "WINDOW_MESSAGES", 3)
    assert [*range(12)] == seen(made, messages_max=20)
    assert [*range(11, -1, -1)] == seen(made, newest_first=True, messages_max=20)
    assert [5, 6] == seen(made, start=(0, 5), messages_max=2)
    ((one,),) = (some for some in made.peek(None, lambda _: None, start=(0, 5), messages_max=1) if some)
    assert (one["body"], one["exchange"], one["routing_key"]) == ("5", "", "s")
