import json

import pytest

from pybroker.control.audit_reader import Wanted, detail, entries, parse_since

NOW_MS = 1_700_000_000_000


def line(time: str = "2023-11-14T22:00:00.000+00:00", event: str = "queue.deleted", **more: object) -> bytes:
    return json.dumps({"time": time, "event": event, **more}, separators=(",", ":")).encode()


def test_an_event_is_wanted_by_its_name_or_its_kind():
    lines = [line(event="queue.deleted"), line(event="queue.created"), line(event="queuex.created"), line(event="a")]
    assert ["queue.deleted", "queue.created"] == [one["event"] for one in entries(lines, Wanted(event="queue"))]
    assert ["queue.created"] == [one["event"] for one in entries(lines, Wanted(event="queue.created"))]


def test_a_name_is_wanted_as_it_is_whatever_it_holds():
    lines = [line(name='"é\n'), line(name="x", user='"é\n'), line(name='"é')]
    assert ['"é\n'] == [one["name"] for one in entries(lines, Wanted(name='"é\n'))]


def test_user_and_virtual_host_narrow_it_down():
    lines = [line(user="u", vhost="/"), line(user="u", vhost="v"), line(user="w", vhost="v")]
    assert [("u", "v")] == [(one["user"], one["vhost"]) for one in entries(lines, Wanted(user="u", vhost="v"))]


def test_what_is_older_is_not_even_read():
    def lines():
        yield line("2023-11-14T22:00:02.000+00:00", name="q")
        yield line("2023-11-14T22:00:01.000+00:00", name="other")
        yield line("2023-11-14T22:00:00.000+00:00", name="other")
        raise AssertionError

    wanted = Wanted(since="2023-11-14T22:00:01.000+00:00")
    assert ["q", "other"] == [one["name"] for one in entries(lines(), wanted)]
    assert ["q"] == [one["name"] for one in entries(lines(), wanted._replace(name="q"))]


def test_what_is_no_entry_is_passed_over():
    lines = [b"", b'{"time":"2023', b"[]", b"7", b"\xff", line(name="q")]
    assert ["q"] == [one["name"] for one in entries(lines, Wanted())]
    assert ["q"] == [one["name"] for one in entries(lines, Wanted(name="q", since="2023-11-14T22:00:00"))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("90s", "2023-11-14T22:11:50.000+00:00"),
        ("15m", "2023-11-14T21:58:20.000+00:00"),
        ("2 h", "2023-11-14T20:13:20.000+00:00"),
        ("3d", "2023-11-11T22:13:20.000+00:00"),
        ("1w", "2023-11-07T22:13:20.000+00:00"),
        ("2023-11-01", "2023-11-01T00:00:00.000+00:00"),
        ("2023-11-01T12:30", "2023-11-01T12:30:00.000+00:00"),
        ("2023-11-01T12:30:00+02:00", "2023-11-01T10:30:00.000+00:00"),
    ],
)
def test_since_is_a_time_ago_or_a_time(text, found):
    assert found == parse_since(text, NOW_MS)


@pytest.mark.parametrize("text", ["", "2", "2y", "h", "yesterday", "-1h", "1234567s"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match=r".*"):
        parse_since(text, NOW_MS)


def test_details_are_what_is_true_or_not_nothing():
    facts = {"durable": True, "exclusive": False, "arguments": {"x": 1}, "messages": 0, "error": "", "tags": []}
    assert 'durable arguments={"x": 1}' == detail({"facts": facts})
    assert "" == detail({"facts": 7})
    assert "" == detail({})
