import pytest

from pybroker.control.arguments.moving import carry_out, check_limits
from pybroker.control.spec import BadArguments, Refused


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_that_is_none(count):
    with pytest.raises(BadArguments):
        check_limits(count, None)
    check_limits(1, "5/s")
    check_limits(None, None)


def test_a_node_that_stops_ends_a_move(operator, peer, world):
    for name in ("a", "b"):
        peer.declare(name)
    for _ in range(5):
        peer.publish("", "a")
    queues = world.vhost.queues
    node = operator._node()._replace(pause=lambda _: world.clock.advance(100))
    work = carry_out(node, world.broker.moves.to_queue(queues["a"], queues["b"], rate=10), source="a")
    for _ in range(3):
        next(work)
    operator.daemon.stop_app()
    with pytest.raises(Refused, match=r"^\d messages? moved, then the node stopped$") as refused:
        list(work)
    assert (69, queues["b"].messages) == (refused.value.exit_code, refused.value.facts["messages"])
    assert 5 == queues["a"].messages_ready + queues["b"].messages_ready
