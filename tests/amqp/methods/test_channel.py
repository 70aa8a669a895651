"""Class channel."""

import pytest

from tests.fakes import Basic, Channel, World


def test_flow_answers_with_what_it_does(peer):
    assert [peer.call(Channel.Flow(active)).active for active in (True, False, False, True)] == [
        True,
        False,
        False,
        True,
    ]


def test_flow_can_be_refused_as_rabbitmq_does():
    peer = World(refuse_flow=True).connect()
    assert peer.call(Channel.Flow(True)).active is True
    assert peer.error(Channel.Flow(False)) == (540, "NOT_IMPLEMENTED - active=false")


def test_flow_is_the_channels_own(peer):
    peer.declare("q")
    peer.open(2)
    peer.consume("q", no_ack=True)
    peer.consume("q", channel=2, no_ack=True)
    peer.call(Channel.Flow(False), 2)
    for i in range(4):
        peer.publish("", "q", b"%d" % i)
    assert (len(peer.take(1)), len(peer.take(2))) == (4, 0)


def test_get_is_not_stopped_by_flow(peer):
    peer.declare("q")
    peer.call(Channel.Flow(False))
    peer.publish("", "q", b"m")
    assert peer.get("q").body == b"m"


def test_flow_ok_is_ignored(peer):
    peer.send(Channel.FlowOk(True))
    assert peer.take() == []


def test_close_ok_out_of_the_blue_changes_nothing(peer):
    peer.send(Channel.CloseOk())
    assert peer.declare("q").queue == "q"


@pytest.mark.parametrize("number", [1, 2_047])
def test_close_ends_consumers_and_requeues(world, peer, number):
    if number != 1:
        peer.open(number)
    peer.declare("q")
    peer.publish("", "q", b"m")
    peer.consume("q", channel=number)
    peer.take(number)
    assert isinstance(peer.call(Channel.Close(200, "", 0, 0), number), Channel.CloseOk)
    queue = world.vhost.queues["q"]
    assert (queue.consumer_count, queue.messages_ready) == (0, 1)
    assert number not in peer.session.channels


def test_a_closed_channel_must_be_opened_again(peer):
    peer.call(Channel.Close(200, "", 0, 0))
    assert peer.error(Basic.Qos())[0] == 504
