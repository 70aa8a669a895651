import gzip

import pytest
from pamqp import commands

from pybroker.control import codec
from pybroker.control.access import ActingUser
from pybroker.control.spec import BadArguments, Refused
from pybroker.errors import AccessRefused


@pytest.fixture
def peek(operator):
    """Return the documents that a command line shows, as they come from the socket."""

    def ask(**given):
        return [one for batch in operator.stream("peek_messages", **{"queue": "q", **given}) for one in batch]

    return ask


def test_messages_are_shown_and_nothing_changes(operator, peer, peek, world):
    peer.declare("q", {"x-message-ttl": 60_000})
    peer.publish("", "q", b'{"a": 1}', content_type="application/json", headers={"n": 5, "deep": {"x": [1]}})
    peer.publish("", "q", b"\xff\x00")
    before = operator.list("list_queues", "name", "messages_ready", "consumers", "head_message_timestamp")
    first, second = peek()
    assert (first["body"], first["body_format"], first["headers"]) == ({"a": 1}, "json", {"n": 5, "deep": {"x": [1]}})
    assert (first["state"], first["redelivered"], first["routing_key"]) == ("ready", False, "q")
    assert first["properties"] == {"content_type": "application/json"}
    assert (second["body"], second["body_format"], second["size"]) == ("ff00", "hex", 2)
    assert first["expires_at"] > first["arrived_at"]
    assert before == operator.list("list_queues", "name", "messages_ready", "consumers", "head_message_timestamp")
    reply = peer.get("q")
    assert (reply.method.redelivered, reply.body) == (False, b'{"a": 1}')


def test_it_goes_on_from_a_position_in_either_direction(peer, peek):
    peer.declare("q")
    for number in range(5):
        peer.publish("", "q", b"%d" % number)
    seqs = [one["seq"] for one in peek(number=2)]
    rest = [one["seq"] for one in peek(start=str(seqs[-1] + 1))]
    assert 5 == len({*seqs, *rest})
    assert ["4", "3"] == [one["body"] for one in peek(start="tail", number=2)]
    assert ["0"] == [one["body"] for one in peek(start=str(seqs[0]), newest_first=True)]


def test_filters_look_at_headers_and_text(peer, peek):
    peer.declare("q")
    peer.publish("", "q", b"one", headers={"kind": "a", "n": 1})
    peer.publish("", "q", gzip.compress(b"two"), headers={"kind": "a", "n": 2}, content_encoding="gzip")
    assert ["two"] == [one["body"] for one in peek(where=["kind=a", "n=2"])]
    assert ["one"] == [one["body"] for one in peek(match="one")]
    assert ["two"] == [one["body"] for one in peek(match="two")]
    assert [] == peek(where=["kind=b"])


def test_unacknowledged_messages_come_with_their_holder(peer, peek, world):
    peer.declare("q")
    peer.publish("", "q", b"one")
    peer.publish("", "q", b"two")
    peer.call(commands.Basic.Qos(prefetch_count=1))
    peer.consume("q", "tag")
    world.advance(5_000)
    assert ["two"] == [one["body"] for one in peek()]
    first, second = peek(unacked=True)
    assert (first["state"], first["consumer_tag"], first["channel"]) == ("unacknowledged", "tag", 1)
    assert (first["connection"], first["connection_pid"], first["user"]) == (
        peer.session.name,
        peer.session.pid,
        "guest",
    )
    assert first["user_provided_name"] == ""
    peer.session.client_properties["connection_name"] = "billing"
    assert peek(unacked=True)[0]["user_provided_name"] == "billing"
    assert (first["unacknowledged_ms"], first["age_ms"]) == (5_000, 5_000)
    assert (second["state"], "consumer_tag" in second) == ("ready", False)


def test_bodies_are_cut_or_come_whole(peer, peek):
    peer.declare("q")
    peer.publish("", "q", b"x" * 5_000)
    (one,) = peek(body_size=10)
    assert (one["body"], one["body_cut"], one["size"]) == ("x" * 10, True, 5_000)
    (one,) = peek(format="raw")
    assert (one["body_format"], one["body_cut"], len(one["body"])) == ("base64", False, 6_668)


def test_a_user_sees_what_they_may_read(world, operator, peer):
    peer.declare("q")
    operator.ask("add_user", username="u", password="p")
    operator.ask("set_permissions", username="u", configure="", write="", read="other")
    with pytest.raises(AccessRefused, match="read access to queue 'q'"):
        list(operator.stream("peek_messages", ActingUser("u"), queue="q"))
    with pytest.raises(AccessRefused, match="'nobody' does not exist"):
        list(operator.stream("peek_messages", ActingUser("nobody"), queue="q"))
    operator.ask("set_permissions", username="u", configure="", write="", read="q")
    assert [[]] == list(operator.stream("peek_messages", ActingUser("u"), queue="q"))


def test_a_queue_that_is_not_there_is_refused(operator):
    with pytest.raises(Refused, match="queue 'q' was not found"):
        list(operator.stream("peek_messages", queue="q"))


@pytest.mark.parametrize(
    "given",
    [
        {"delayed": True, "unacked": True},
        {"start": "x"},
        {"where": ["x"]},
        {"number": 0},
        {"body_size": -1},
        {"format": "erlang"},
    ],
)
def test_wrong_arguments_are_refused(operator, given):
    with pytest.raises(BadArguments):
        operator.stream("peek_messages", queue="q", **given)


def test_half_a_character_and_deep_json_harm_nobody(peer, peek):
    peer.declare("q")
    bodies = [b'{"a":"\\ud800"}', b"[" * 900 + b"]" * 900, b"[1e999, NaN]", b"\xf0\x9f", b'"\xff"']
    for body in bodies:
        peer.publish("", "q", body, content_type="application/json")
    shown = peek(body_size=4_096)
    assert len(bodies) == len(shown)
    assert {"text", "hex"} >= {one["body_format"] for one in shown}
    assert codec.decode(codec.encode(shown)) == shown


def test_messages_of_a_stream_are_shown_by_their_offsets(peer, peek):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    for body in (b"a", b"b", b"c"):
        peer.publish("", "s", body)
    assert [(one["position"], one["body"]) for one in peek(queue="s", start="1")] == [("1", "b"), ("2", "c")]
