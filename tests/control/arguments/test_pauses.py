import pytest

from pybroker.control.arguments.pauses import check_reason, find_consumer
from pybroker.control.spec import BadArguments, Refused


@pytest.mark.parametrize("why", ["", " ", "x" * 256])
def test_a_reason_is_a_short_text(why):
    check_reason("a reason")
    with pytest.raises(BadArguments):
        check_reason(why)


def test_a_consumer_is_found_by_its_tag_and_if_need_be_by_queue_or_connection(world, peer):
    other = world.connect(peer=("127.0.0.1", 40_001))
    for queue in ("a", "b"):
        peer.declare(queue)
        peer.consume(queue, f"only {queue}")
    peer.consume("a", "t")
    other.consume("b", "t")
    assert find_consumer(world.vhost, "only a", None, None).queue.name == "a"
    with pytest.raises(Refused, match="2 consumers have the tag 't': choose one by --queue or --connection"):
        find_consumer(world.vhost, "t", None, None)
    assert find_consumer(world.vhost, "t", "b", None).queue.name == "b"
    assert find_consumer(world.vhost, "t", None, peer.session.pid).queue.name == "a"
    assert find_consumer(world.vhost, "t", None, other.session.name).queue.name == "b"


@pytest.mark.parametrize("where", [("x", None, None), ("t", "b", None), ("t", "nosuch", None), ("t", None, "nosuch")])
def test_one_that_is_not_there_is_refused(world, peer, where):
    for queue in ("a", "b"):
        peer.declare(queue)
    peer.consume("a", "t")
    with pytest.raises(Refused, match="no consumer in virtual host '/' has the tag"):
        find_consumer(world.vhost, *where)
