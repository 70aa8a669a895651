import pytest

from pybroker.control.access import ActingUser
from pybroker.control.spec import BadArguments, Refused
from pybroker.errors import AccessRefused, InternalError
from pybroker.store.disk import DiskError


@pytest.fixture
def read(operator, stream):
    """Return the documents that a command line shows, as they come from the socket."""

    def ask(**given):
        return [one for batch in operator.stream("stream_read", **{"stream": "s", **given}) for one in batch]

    return ask


def test_messages_are_shown_as_they_stand(publish, read):
    publish(b'{"a": 1}', content_type="application/json", headers={"n": 5})
    publish(b"\xff")
    first, second = read()
    assert (first["offset"], first["body"], first["body_format"]) == (0, {"a": 1}, "json")
    assert (first["exchange"], first["routing_key"], first["headers"]) == ("", "s", {"n": 5})
    assert (second["offset"], second["body"], second["body_format"], second["size"]) == (1, "ff", "hex", 1)
    assert {"seq", "position", "redelivered", "expires_at"}.isdisjoint(first)


@pytest.mark.parametrize(
    ("given", "offsets"),
    [
        ({}, range(10)),
        ({"limit": 3}, range(3)),
        ({"start": "-2"}, [18, 19]),
        ({"start": "-100", "limit": 1}, [0]),
        ({"start": "17"}, [17, 18, 19]),
        ({"start": "next"}, []),
        ({"start": "last"}, [19]),
        ({"start": "4", "to": "6"}, [4, 5, 6]),
        ({"start": "4", "to": "6", "limit": 2}, [4, 5]),
        ({"to": "100"}, range(20)),
        ({"start": "100"}, []),
        ({"start": "6", "to": "4"}, []),
    ],
    ids=str,
)
def test_from_where_to_where(publish, read, given, offsets):
    publish(*(b"%d" % number for number in range(20)))
    assert [one["offset"] for one in read(**given)] == list(offsets)


def test_times_are_places_too(world, publish, read):
    publish(b"a")
    world.advance(3_600_000)
    publish(b"b")
    world.advance(60_000)
    publish(b"c")
    assert [one["body"] for one in read(start="30m")] == ["b", "c"]
    assert [one["body"] for one in read(start="30m", to="30s")] == ["b"]
    assert [one["body"] for one in read(start="2h", to="30m")] == ["a"]
    assert [one["body"] for one in read(start="1970-01-01")] == ["a", "b", "c"]
    assert read(start="2200-01-01T00:00+02:00") == []


def test_filters_look_at_headers(publish, read):
    publish(b"one", headers={"x-stream-filter-value": "fr", "n": 1})
    publish(b"two", headers={"x-stream-filter-value": "de", "n": 1})
    publish(b"three", headers={"x-stream-filter-value": "it", "n": 2})
    publish(b"four")
    assert [one["body"] for one in read(filter_values=["fr"])] == ["one"]
    assert [one["body"] for one in read(filter_values=["fr", "it"])] == ["one", "three"]
    assert [one["body"] for one in read(where=["n=1"])] == ["one", "two"]
    assert [one["body"] for one in read(where=["n=1"], filter_values=["de"], start="0", limit=1)] == ["two"]


def test_it_follows_what_comes(operator, world, publish, read):
    publish(b"0")
    found = operator.stream("stream_read", stream="s", follow=True)
    seen = []
    for number in range(1, 4):
        while not seen or seen[-1]["body"] != str(number - 1):
            seen += next(found)
        publish(b"%d" % number)
    assert [one["offset"] for one in seen] == [0, 1, 2]
    assert [one["body"] for batch in operator.stream("stream_read", stream="s", follow=True, limit=4) for one in batch]
    found.close()


def test_a_stream_that_is_deleted_is_followed_no_more(operator, peer, publish, stream):
    publish(b"0")
    found = operator.stream("stream_read", stream="s", follow=True)
    next(found)
    operator.ask("delete_queue", queue_name="s")
    assert [one["body"] for batch in found for one in batch] in ([], ["0"])


def test_long_bodies_come_in_parts(publish, read):
    publish(b"x" * 100_000)
    (one,) = read(body_size=10)
    assert (one["body"], one["body_cut"], one["size"]) == ("x" * 10, True, 100_000)
    first, *parts = read(format="raw")
    assert first["body_parts"] == len(parts)
    assert all(set(part) == {"seq", "body_part"} for part in parts)


def test_a_user_sees_what_they_may_read(operator, stream):
    operator.ask("add_user", username="u", password="p")
    operator.ask("set_permissions", username="u", configure="", write="", read="other")
    with pytest.raises(AccessRefused, match="read access to queue 's'"):
        list(operator.stream("stream_read", ActingUser("u"), stream="s"))


def test_a_disk_that_fails_is_told(stream, publish, read, monkeypatch):
    publish(b"x")
    monkeypatch.setattr(type(stream), "read", lambda _, offset, octets_max, done: done(DiskError("read", "s", 5)))
    with pytest.raises(InternalError, match="stream 's' in vhost '/' cannot be read: "):
        read()


def test_what_is_no_stream_is_refused(operator, peer):
    peer.declare("q")
    with pytest.raises(Refused, match="queue 'q' in virtual host '/' is of type classic, not a stream"):
        list(operator.stream("stream_read", stream="q"))
    with pytest.raises(Refused, match="stream 'x' was not found"):
        list(operator.stream("stream_read", stream="x"))


@pytest.mark.parametrize(
    "given",
    [
        {"start": "x"},
        {"start": "-"},
        {"start": ""},
        {"to": "-1"},
        {"to": "first"},
        {"limit": 0},
        {"where": ["x"]},
        {"body_size": -1},
        {"format": "erlang"},
        {"follow": True, "format": "pretty_table"},
        {"follow": True, "format": "json"},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(operator, given):
    with pytest.raises(BadArguments):
        operator.stream("stream_read", stream="s", **given)
