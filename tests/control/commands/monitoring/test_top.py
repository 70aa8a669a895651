import pytest
from pamqp import commands

from pybroker.control.spec import Refused

Basic = commands.Basic


def test_the_queues_of_all_virtual_hosts_or_of_one(operator, peer):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("set_permissions", username="guest", vhost="v", configure=".*", write=".*", read=".*")
    other = operator.world.connect(vhost="v")
    peer.declare("q")
    other.declare("p")
    assert operator.list("top", "vhost", "name") == [["/", "q"], ["v", "p"]]
    assert operator.list("top", "name", vhost="v") == ["p"]
    with pytest.raises(Refused):
        operator.list("top", vhost="nosuch")


def test_what_a_queue_holds_and_what_went_through_it(operator, peer):
    peer.declare("q")
    for _ in range(5):
        peer.publish("", "q", b"four")
    peer.get("q", no_ack=True)
    delivered = peer.get("q", no_ack=False)
    peer.send(Basic.Ack(delivered.method.delivery_tag))
    again = peer.get("q", no_ack=False)
    peer.send(Basic.Nack(again.method.delivery_tag, requeue=True))
    operator.world.run()
    peer.get("q", no_ack=False)
    operator.world.run()
    columns = ("messages_ready", "messages_unacknowledged", "message_bytes", "publish", "deliver", "ack", "redeliver")
    assert operator.list("top", *columns) == [[2, 1, 12, 5, 4, 1, 1]]


def test_how_old_its_head_is_and_how_fast_it_moves(operator, peer):
    peer.declare("q")
    assert operator.list("top", "head_age_ms", "in_rate_1m", "out_rate_1m") == [["", None, None]]
    peer.publish("", "q", b"four")
    operator.world.advance(60_000)
    age_ms, in_rate, out_rate = operator.list("top", "head_age_ms", "in_rate_1m", "out_rate_1m")[0]
    assert (age_ms, in_rate > 0, out_rate) == (60_000, True, 0)
