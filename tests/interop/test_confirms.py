"""Publisher confirms as a client sees them: every publish answered once, in publish order, a return before its ack.

RabbitMQ confirms an unroutable message before the routed ones in front of it; pybroker keeps the publish order.
"""

import pytest
from pamqp import commands

from tests.interop.peer import PERSISTENT, publish


def read_confirms(peer, count):
    """Return (tags answered, in order; {body returned: tags answered before it}) when `count` are answered."""
    order, returned, answered = [], {}, 0
    while answered < count:
        method = peer.expect(commands.Basic.Ack, commands.Basic.Nack, commands.Basic.Return)
        if isinstance(method, commands.Basic.Return):
            returned[peer.read_content(method).body] = answered
            continue
        order.append(method.delivery_tag)
        answered = method.delivery_tag if method.multiple else answered + 1
    return order, returned


def test_confirms_come_in_publish_order_and_answer_each_publish_once(broker):
    """F16, A13: routed, unroutable, persistent and transient ones mixed, in one write."""
    with broker.peer() as peer:
        queue = peer.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
        peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
        keys = [queue, "unroutable", queue]
        octets = b"".join(publish("", keys[i % 3], b"%d" % i, PERSISTENT if i % 2 else b"\0\0") for i in range(999))
        peer.socket.sendall(octets)
        order, _ = read_confirms(peer, 999)
        count = peer.call(commands.Queue.Declare(queue=queue, passive=True), commands.Queue.DeclareOk).message_count
        peer.close()
    assert (sorted(order), 999, 666) == (order, order[-1], count)


def test_a_return_comes_before_the_ack_of_its_publish(broker):
    with broker.peer() as peer:
        peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
        peer.socket.sendall(b"".join(publish("", "nobody", b"%d" % tag, mandatory=True) for tag in range(1, 201)))
        _, returned = read_confirms(peer, 200)
        peer.close()
    assert [b"%d" % tag for tag in range(1, 201)] == list(returned)
    late = {body: answered for body, answered in returned.items() if answered >= int(body)}
    assert late == {}


def test_confirmed_messages_are_in_the_queue_in_publish_order(broker):
    """F17."""
    with broker.pika() as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.confirm_delivery()
        for number in range(200):
            channel.basic_publish("", queue, b"%d" % number)
        bodies = [channel.basic_get(queue, auto_ack=True)[2] for _ in range(200)]
    assert [b"%d" % number for number in range(200)] == bodies


def test_confirm_select_after_tx_select_is_refused(broker):
    with broker.peer() as peer:
        peer.call(commands.Tx.Select(), commands.Tx.SelectOk)
        closed = peer.call(commands.Confirm.Select(), commands.Channel.Close)
    assert (
        closed.reply_code,
        closed.reply_text,
    ) == (406, "PRECONDITION_FAILED - cannot switch from tx to confirm mode")


def test_pika_sees_an_unroutable_mandatory_message_as_unroutable(broker):
    import pika

    with broker.pika() as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        with pytest.raises(pika.exceptions.UnroutableError):
            channel.basic_publish("", "nobody", b"x", mandatory=True)
        channel.basic_publish("", "nobody", b"x")
