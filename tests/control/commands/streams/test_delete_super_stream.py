import pytest

from pybroker.errors import NotFound, PreconditionFailed


def test_its_partitions_go_with_their_messages(operator, world, peer):
    operator.ask("add_super_stream", super_stream="x", partitions=2)
    peer.publish("x", "1", b"a")
    world.advance(1_000)
    answer = operator.ask("delete_super_stream", super_stream="x")
    assert answer == "Super stream was deleted with 1 message"
    assert not world.broker.vhosts["/"].queues
    assert "x" not in world.broker.vhosts["/"].exchanges


def test_only_super_streams_are_deleted(operator, peer):
    with pytest.raises(NotFound, match="no exchange 'x'"):
        operator.ask("delete_super_stream", super_stream="x")
    with pytest.raises(PreconditionFailed, match="is no super stream"):
        operator.ask("delete_super_stream", super_stream="amq.direct")
