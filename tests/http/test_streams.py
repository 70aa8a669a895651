"""Answers that go on, line by line."""

import json
from types import SimpleNamespace

import pytest

from pybroker.http.errors import LOGIN_ENDED, HttpError
from pybroker.http.node import IDLE, Refused, Unavailable
from pybroker.http.streams import stream


def told(*lines):
    """Return the lines of a stream of an answer; an exception among the lines is raised there."""

    def answer(command, **options):
        assert (command, options) == ("it", {"progress": True, "idle_s": 5.0, "queue": "q"})
        for line in lines:
            if isinstance(line, Exception):
                raise line
            yield line

    response = stream(SimpleNamespace(answer=answer), "it", queue="q")
    assert response.content_type == "application/x-ndjson"
    return [json.loads(line) if line != "\n" else None for line in response.response]


def test_progress_and_value():
    assert told({"progress": [1, 2]}, {"value": {"messages": 2}}, {"end": 0}) == [
        {"progress": [1, 2]},
        {"value": {"messages": 2}},
    ]


def test_events_and_silence():
    assert told({"columns": ["value"]}, [{"event": "x"}], IDLE, {"end": 1}) == [
        {"event": {"event": "x"}},
        None,
        {"value": {}},
    ]


def test_failures_on_the_way():
    (_, last) = told({"progress": [1, 2]}, Refused("it stopped", 75, {"messages": 1}))
    assert last == {"error": {"error": "too_many_requests", "reason": "it stopped", "messages": 1}}
    (last,) = told(Refused("the session has ended", LOGIN_ENDED))
    assert last["error"]["error"] == "not_authorised"
    (last,) = told(Unavailable("the node is gone"))
    assert last["error"]["error"] == "service_unavailable"


@pytest.mark.parametrize(
    ("refused", "status"),
    [(Refused("no queue", 65, {"missing": "queue"}), 404), (Refused("wrong", 64), 400), (Refused("later", 75), 429)],
)
def test_a_refusal_at_the_begin_is_an_answer(refused, status):
    def answer(*_, **__):
        raise refused

    with pytest.raises(HttpError) as caught:
        stream(SimpleNamespace(answer=answer), "it")
    assert (caught.value.status, caught.value.reason) == (status, str(refused))
