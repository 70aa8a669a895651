import pytest

from pybroker.control.spec import EX_TEMPFAIL, BadArguments, Refused
from pybroker.wire.stream import commands


@pytest.fixture
def stored(client):
    client.send(commands.StoreOffset("reader", "s", 2))
    return client


@pytest.mark.parametrize(
    ("given", "offset"),
    [
        ({}, 0),
        ({"to": "1"}, 1),
        ({"to": "2"}, 2),
        ({"to": "-1"}, 1),
        ({"to": "next"}, 2),
        ({"to": "first"}, 0),
        ({"to": "last"}, 1),
        ({"to": "1h"}, 0),
        ({"to": "2030-01-01T00:00"}, 2),
    ],
)
def test_another_offset_is_stored(operator, stored, given, offset):
    answer = operator.ask("reset_offset", stream="s", reference="reader", **given)
    assert (answer["offset"], answer["offset_before"]) == (offset, 2)
    assert answer["message"] == f"Done: offset {offset} is stored for 'reader'; it was 2"
    assert operator.list("list_stream_tracking", "value", stream="s", offset=True) == [offset]


def test_a_name_that_never_stored_one_is_refused(operator, stored):
    with pytest.raises(Refused, match="no consumer has stored an offset as 'other' in stream 's'"):
        operator.ask("reset_offset", stream="s", reference="other")


def test_what_is_no_place_is_refused(operator, stored):
    with pytest.raises(BadArguments, match="--to: expected first"):
        operator.ask("reset_offset", stream="s", reference="reader", to="soon")


@pytest.mark.parametrize("offset", ["3", "99999"])
def test_offsets_that_are_not_there_yet_are_refused(operator, stored, offset):
    with pytest.raises(Refused, match=f"stream 's' has no offset {offset}: its next message has offset 3"):
        operator.ask("reset_offset", stream="s", reference="reader", to=offset)


def test_a_log_that_failed_is_told(operator, world, stored, monkeypatch):
    log = world.vhost.queues["s"].log
    monkeypatch.setattr(type(log), "commit_position", 1 << 40)
    monkeypatch.setattr(log, "failed", "no space")
    with pytest.raises(
        Refused, match="the offset cannot be stored: the log has failed: no space; mend the disk"
    ) as refused:
        operator.ask("reset_offset", stream="s", reference="reader")
    assert refused.value.exit_code == EX_TEMPFAIL
