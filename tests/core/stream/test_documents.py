import pytest

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.stream.documents import LOOKED_AT_MAX, Wanted, documents
from pybroker.errors import InternalError
from pybroker.store.disk import DiskError
from pybroker.wire.amqp10.encoding import binary, map_of, text
from pybroker.wire.amqp10.sections import APPLICATION_PROPERTIES, DATA, section
from tests.entries import entries_run


@pytest.fixture
def read_all():
    """Return a function that gives the offsets of what is shown of a stream, and how often others went on."""

    def read_all(stream, pause=lambda _: None, **wish):
        offsets, pauses = [], []

        def counted(seconds):
            pauses.append(seconds)
            pause(seconds)

        for batch in documents(stream, Wanted(**{"start": 0, **wish}), counted):
            offsets += [one["offset"] for one in batch]
        return offsets, pauses

    return read_all


def test_windows_join_without_gaps(stream, fill, read_all):
    for number in range(50):
        fill(stream, *[b"x" * 50_000] * (number % 3 + 1))
    assert read_all(stream)[0] == list(range(stream.next_offset))
    assert read_all(stream, start=17, stop=33)[0] == list(range(17, 33))


def test_what_comes_later_is_not_shown(stream, fill, read_all):
    fill(stream, b"a", b"b")
    assert read_all(stream, lambda _: fill(stream, b"c"))[0] == [0, 1]


def test_the_disk_is_waited_for(slow, fill, read_all, world):
    fill(slow, b"a", b"b")
    world.advance(120_000)
    slow.files.run()
    world.advance(120_000)
    slow.pieces.forget(slow.files.next_offset)
    offsets, pauses = read_all(slow, lambda seconds: slow.files.run() if seconds else None)
    assert offsets == [0, 1]
    assert any(pauses)


def test_a_disk_that_fails_is_raised(slow, fill, read_all, world):
    fill(slow, b"a")
    world.advance(120_000)
    slow.files.run()
    slow.pieces.forget(slow.files.next_offset)
    slow.files.error = DiskError("read", "s", 5)
    with pytest.raises(InternalError, match="cannot be read"):
        read_all(slow, lambda seconds: slow.files.run() if seconds else None)


def test_what_was_truncated_is_passed_over(stream, fill, read_all, world):
    fill(stream, b"a", b"b", b"c")
    stream.truncate(2, lambda _: None)
    world.advance(120_000)
    assert read_all(stream)[0] == [2]


def test_a_deleted_stream_ends_it(stream, fill, read_all):
    fill(stream, b"a")
    stream.deleted = True
    assert read_all(stream, follow=True)[0] == []


def test_others_go_on_though_nothing_is_found(stream, fill):
    fill(stream, *[b"x"] * (3 * LOOKED_AT_MAX))
    batches = list(documents(stream, Wanted(0, values=["fr"]), lambda _: None))
    assert (batches.count([]), len(batches)) >= (3, 3)
    assert not any(batches)


def test_entries_are_filtered_by_their_application_properties(stream, read_all):
    values = [b"eu", b"us", b"eu"]
    keys = [section(APPLICATION_PROPERTIES, map_of([(text(b"x-stream-filter-value"), text(each))])) for each in values]
    stream.publish_entries(
        entries_run(0, *[key + section(DATA, binary(b"x")) for key in keys], b"no message"), NO_RECEIPT
    )
    assert read_all(stream)[0] == [0, 1, 2, 3]
    assert read_all(stream, values=["eu"])[0] == [0, 2]
