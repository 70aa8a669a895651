"""A delayed exchange as the router and definitions see it; flows/test_delayed.py tests how it delays."""

from pybroker.core.metadata.recovery import durable_queues
from pybroker.core.metadata.store import save_queue
from pybroker.core.routing.router import route
from tests.core.kept import again, new_broker
from tests.topology import exchange, link, names, new_vhost, queue, reached, wired


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


def test_a_durable_one_is_there_again_with_the_id_of_its_schedule():
    broker = new_broker()
    vhost = broker.vhosts["/"]
    x = exchange(vhost, "x", "x-delayed-message", wired(x_delayed_type="topic"))
    save_queue(queue(vhost, "q"))
    link(vhost, "x", "q", "a.#")
    restarted = again(broker)
    found = restarted.vhosts["/"].exchanges["x"]
    assert [] == restarted.notices
    assert (x.schedule_id, "topic") == (found.schedule_id, found.inner.TYPE)
    assert {x.schedule_id, vhost.queues["q"].id} == set(durable_queues(restarted))
    assert ["q"] == reached(restarted.vhosts["/"], "x", "a.b")


def test_a_row_without_an_inner_type_or_an_id_stops_nothing():
    broker = new_broker()
    vhost = broker.vhosts["/"]
    for name in ("x", "y"):
        exchange(vhost, name, "x-delayed-message", wired(x_delayed_type="topic"))
    texts = broker.definitions.texts
    for name, lost in (("x", "arguments_amqp"), ("y", "schedule_id")):
        key = "exchange", ("/", name)
        texts[key] = texts[key].replace(lost, "lost")
    restarted = again(broker)
    assert ["x", "y"] == [name for name in "xy" if any(f"name '{name}'" in each for each in restarted.notices)]
    assert "x" not in restarted.vhosts["/"].exchanges
