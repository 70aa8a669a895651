"""Class confirm: what flows do not tell."""

from tests.fakes import Basic, Confirm


def test_select_without_an_answer(peer):
    peer.declare("q")
    peer.send(Confirm.Select(nowait=True))
    assert peer.take() == []
    peer.publish("", "q", b"m")
    (ack,) = peer.take()
    assert isinstance(ack, Basic.Ack)
    assert (ack.delivery_tag, ack.multiple) == (1, False)
