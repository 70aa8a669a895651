"""What a delayed exchange is to the router and to definitions; how it delays is in flows/test_delayed.py."""

from topology import exchange, link, names, new_vhost, queue, reached, wired

from pybroker.core.router import route


def made(inner="direct"):
    vhost = new_vhost()
    x = exchange(vhost, "x", "x-delayed-message", wired(x_delayed_type=inner))
    queue(vhost, "q")
    link(vhost, "x", "q", "k")
    return vhost, x


def test_a_message_with_a_delay_gets_to_the_schedule_and_no_further():
    vhost, x = made()
    routed = route(vhost, x, ["k"], wired(x_delay=5))
    assert ((x.schedule,), True) == (routed.queues, routed.dynamic)
    assert ["q"] == names(route(vhost, x, ["k"], wired(x_delay=-5)).queues)
    assert ["q"] == reached(vhost, "x", "k")


def test_a_time_that_has_passed_is_no_delay():
    vhost, x = made()
    now = vhost.broker.clock.timestamp_ms
    assert ["q"] == names(route(vhost, x, ["k"], wired(x_deliver_at=now)).queues)
    assert (x.schedule,) == route(vhost, x, ["k"], wired(x_deliver_at=now + 1)).queues


def test_its_schedule_has_an_id_that_no_queue_has():
    vhost, x = made()
    ids = [x.schedule_id, vhost.queues["q"].id]
    assert (2, None, 0) == (len(set(ids)), vhost.exchanges["amq.direct"].schedule_id, x.messages_delayed)
    assert 0 == vhost.exchanges["amq.direct"].messages_delayed
