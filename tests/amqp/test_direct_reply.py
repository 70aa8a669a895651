"""Answers without a queue: whose outbox they end in, and when they do not."""

from pamqp import frame

from pybroker.amqp.direct_reply import REPLIES_OCTETS_MAX, REPLY_TO
from tests.fakes import Basic, Content, FakePeer, World

MEBIBYTE = 1_048_576


def asked(peer: FakePeer, server: FakePeer) -> str:
    """Let `peer` ask a question; return the address for the answer."""
    peer.consume(REPLY_TO, no_ack=True)
    server.declare("rpc")
    peer.publish("", "rpc", b"?", reply_to=REPLY_TO)
    address = server.get("rpc").properties.reply_to
    assert isinstance(address, str)
    return address


def test_a_question_tells_where_its_answer_is_to_go_and_nothing_else_changes(world, peer):
    address = asked(peer, server := world.connect())
    peer.publish("", "rpc", b"?", reply_to=REPLY_TO, correlation_id="7", headers={"a": 1}, app_id="app")
    found = server.get("rpc").properties
    assert (address, "7", {"a": 1}, "app") == (found.reply_to, found.correlation_id, found.headers, found.app_id)


def test_an_answer_is_cut_for_a_peer_with_smaller_frames_and_carries_its_channel(world):
    small = world.connect(frame_octets_max=4_096)
    small.open(7)
    small.consume(REPLY_TO, "answers", channel=7, no_ack=True)
    server = world.connect()
    server.declare("rpc")
    small.publish("", "rpc", b"?", channel=7, reply_to=REPLY_TO)
    server.publish("", server.get("rpc").properties.reply_to, bytes(10_000))
    (answer,) = small.take(7)
    assert ("answers", bytes(10_000), False) == (answer.method.consumer_tag, answer.body, answer.method.redelivered)


def test_answers_that_nobody_reads_are_not_kept_without_bound():
    world = World()
    peer, server = world.connect(), world.connect()
    address = asked(peer, server)
    for _ in range(20):
        frames = server.publish_frames("", address, bytes(MEBIBYTE), True)
        server.send_octets(b"".join(frame.marshal(one, 1) for one in frames))
    assert REPLIES_OCTETS_MAX < peer.session.send_pend < REPLIES_OCTETS_MAX + 2 * MEBIBYTE
    world.run()
    answers, returned = peer.take(), server.take()
    assert 20 == len(answers) + len(returned)
    assert {312} == {message.method.reply_code for message in returned}
    server.publish("", address, b"again")
    assert [b"again"] == [message.body for message in peer.take() if isinstance(message, Content)]


def test_who_stops_listening_gets_no_more_answers(world, peer):
    server = world.connect()
    address = asked(peer, server)
    (tag, _) = peer.session.channels[1].reply_consumer
    peer.call(Basic.Cancel(tag))
    server.publish("", address, b"late", mandatory=True)
    assert ([312], []) == ([message.method.reply_code for message in server.take()], peer.take())
