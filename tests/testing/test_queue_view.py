import threading

import pytest


@pytest.fixture
def orders(vhost, connect):
    _, channel = connect()
    channel.queue_declare("orders")
    channel.basic_publish("", "orders", b"one")
    channel.basic_publish("", "orders", b"two")
    return channel


def test_counts_are_those_of_now(vhost, orders):
    queue = vhost.queue("orders")
    assert (queue.messages, queue.ready, queue.unacknowledged, queue.consumers) == (2, 2, 0, 0)
    orders.basic_get("orders")
    assert (queue.messages, queue.ready, queue.unacknowledged) == (2, 1, 1)
    assert repr(queue) == "<queue 'orders': messages 2, ready 1, unacknowledged 1, consumers 0>"


def test_bodies_stay_where_they_are(vhost, orders):
    assert vhost.queue("orders").bodies() == [b"one", b"two"]
    assert vhost.queue("orders").bodies(1) == [b"one"]
    assert orders.basic_get("orders")[0].redelivered is False


def test_a_queue_that_is_not_there_names_those_that_are(vhost, orders):
    queue = vhost.queue("order")
    assert not queue.exists
    assert repr(queue) == "<queue 'order': not there>"
    with pytest.raises(AssertionError) as failure:
        assert queue.messages == 0
    assert str(failure.value) == (
        "there is no queue 'order' in this virtual host. Is it 'orders'? Its queues:\n"
        "  orders: messages 2, ready 2, unacknowledged 0, consumers 0"
    )


def test_waiting_ends_when_the_counts_are_there(vhost, orders):
    timer = threading.Timer(0.1, vhost.queue("orders").purge)
    timer.start()
    vhost.queue("orders").wait_for(messages=0, consumers=0, timeout_s=60)
    timer.join()


def test_waiting_in_vain_says_what_there_is_instead(vhost, orders):
    with pytest.raises(AssertionError) as failure:
        vhost.queue("orders").wait_for(messages=3, timeout_s=0.02)
    assert str(failure.value) == (
        "queue 'orders' did not come to messages 3 within 0.02 s.\n"
        "It has messages 2, ready 2, unacknowledged 0, consumers 0.\n"
        "Published in this virtual host:\n"
        "  exchange '', key 'orders': 'one' -> orders\n"
        "  exchange '', key 'orders': 'two' -> orders\n"
        "Queues:\n"
        "  orders: messages 2, ready 2, unacknowledged 0, consumers 0"
    )


def test_waiting_for_a_queue(vhost, connect):
    with pytest.raises(AssertionError, match=r"no queue 'later'.*\n  none\nIt was waited for 0\.02 s"):
        vhost.queue("later").wait_for(messages=0, timeout_s=0.02)


@pytest.mark.parametrize("counts", [{}, {"massages": 1}])
def test_a_count_that_does_not_exist(vhost, counts):
    with pytest.raises(TypeError, match="wait_for takes messages, ready, unacknowledged, consumers, not"):
        vhost.queue("orders").wait_for(**counts)
