import json

import pytest

from pybroker.control.spec import BadArguments

DELETED = {
    "time": "2023-11-14T22:13:00.000+00:00",
    "event": "queue.deleted",
    "vhost": "/",
    "name": "q",
    "user": "guest",
    "connection": "10.0.0.1:5 -> 10.0.0.2:5672",
    "peer": "10.0.0.1:5",
    "cause": "client",
    "facts": {"durable": True, "messages": 7},
}
COMMAND = {**DELETED, "time": "2023-11-14T22:13:19.000+00:00", "event": "command", "name": "purge_queue"}


@pytest.fixture
def audited(operator):
    operator.daemon.audited = [json.dumps(entry).encode() for entry in (DELETED, COMMAND)]
    return operator


def test_the_last_entries_are_listed_the_oldest_first(audited):
    assert [
        [
            "2023-11-14T22:13:00.000+00:00",
            "queue.deleted",
            "/",
            "q",
            "guest",
            "10.0.0.1:5",
            "client",
            "durable messages=7",
        ],
        [COMMAND["time"], "command", "/", "purge_queue", "guest", "10.0.0.1:5", "client", "durable messages=7"],
    ] == audited.list("audit")
    assert [["purge_queue"]] == [audited.list("audit", "name", number=1)]
    assert [[DELETED["connection"], DELETED["facts"]]] == audited.list("audit", "connection", "facts", event="queue")


def test_what_is_asked_for_is_listed(audited):
    assert ["q"] == audited.list("audit", "name", name="q")
    assert [] == audited.list("audit", "name", user="nobody")
    assert [] == audited.list("audit", "name", vhost="v")
    assert ["purge_queue"] == audited.list("audit", "name", since="10s")
    assert ["purge_queue"] == audited.list("audit", "name", since="2023-11-14T22:13:10")


def test_an_entry_of_which_half_is_missing_is_listed(operator):
    operator.daemon.audited = [b'{"time":"t","event":"audit.dropped","count":5}']
    assert [["t", "audit.dropped", "", "", "", "", "", ""]] == operator.list("audit")


@pytest.mark.parametrize(("given", "text"), [({"number": 0}, "--number"), ({"since": "soon"}, "--since")])
def test_what_cannot_be_is_refused(operator, given, text):
    with pytest.raises(BadArguments) as refused:
        operator.list("audit", **given)
    assert refused.value.text.startswith(f"Bad argument: {text} must be ")
    assert 65 == refused.value.exit_code
