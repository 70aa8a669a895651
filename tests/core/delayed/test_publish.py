from pybroker.core.delayed.publish import DelayedPublisher
from pybroker.core.routing.publish import names_of
from pybroker.run import PLAIN_ATTRIBUTES, Run
from pybroker.wire.properties import Properties, decode_properties, encode_properties
from tests.topology import exchange, link, new_vhost, queue, wired


def world(inner="direct"):
    vhost = new_vhost()
    x = exchange(vhost, "x", "x-delayed-message", wired(x_delayed_type=inner))
    q = queue(vhost, "q")
    link(vhost, "x", "q", "k")
    return vhost, x, q


def run_of(vhost, key, *headers, octets=b""):
    contents = []
    for each in headers:
        props = encode_properties(Properties(headers=each)) if each is not None else octets
        head = b"\2\0\1" + (12 + len(props)).to_bytes(4) + bytes(12) + props + b"\xce"
        contents.append(head)
    seq = vhost.broker.log.take(len(contents))
    names = names_of("x", key)
    return Run(names, PLAIN_ATTRIBUTES, seq, contents, sum(map(len, contents)), 0, 0, vhost.broker.clock.now_ms)


def entries(q):
    return [(entry.run.count, len(entry.indexes)) for level in q.backlog.levels for entry in level]


def test_what_goes_the_same_way_is_one_run():
    vhost, x, q = world()
    publisher = DelayedPublisher(x.schedule)
    run = run_of(vhost, "k", *[wired(x_delay=5)] * 3, wired(x_delay=6))
    other = run_of(vhost, "nobody", wired(x_delay=5))
    for index in range(4):
        publisher.add(0, run, run.content(index))
    publisher.add(0, other, other.content(0))
    publisher.add(0, run, run.content(0))
    publisher.end()
    publisher.end()
    assert [(4, 4), (1, 1)] == entries(q)
    assert (1, 5) == (vhost.broker.totals.total("dropped"), q.messages_ready)


def test_new_bindings_count_at_once():
    vhost, x, q = world()
    publisher = DelayedPublisher(x.schedule)
    run = run_of(vhost, "k", wired(x_delay=5), wired(x_delay=5))
    publisher.add(0, run, run.content(0))
    second = queue(vhost, "second")
    link(vhost, "x", "second", "k")
    publisher.add(0, run, run.content(1))
    publisher.end()
    assert (2, 1) == (q.messages_ready, second.messages_ready)


def test_an_inner_type_that_looks_at_each_message_does_so():
    vhost, x, q = world("x-recent-history")
    publisher = DelayedPublisher(x.schedule)
    run = run_of(vhost, "k", wired(x_delay=5), wired(x_delay=5))
    for index in range(2):
        publisher.add(0, run, run.content(index))
    publisher.end()
    later = queue(vhost, "later")
    link(vhost, "x", "later")
    assert (2, 2) == (q.messages_ready, later.messages_ready)


def test_headers_that_fill_a_frame_stay_as_they_were():
    vhost, x, q = world()
    vhost.broker.settings.frame_octets_max = 80
    headers = wired(x_deliver_at=5, a="x" * 30)
    publisher = DelayedPublisher(x.schedule)
    run = run_of(vhost, "k", headers)
    publisher.add(0, run, run.content(0))
    publisher.end()
    (level,) = q.backlog.levels
    (entry,) = level
    content = entry.run.content(0)
    assert headers == decode_properties(content[19 : 7 + int.from_bytes(content[3:7])]).headers


def test_a_delay_that_cannot_be_marked_as_waited_for_is_not_waited_for_again():
    vhost, x, q = world()
    vhost.broker.settings.frame_octets_max = 80
    headers = wired(x_delay="5", a="x" * 35)
    publisher = DelayedPublisher(x.schedule)
    run = run_of(vhost, "k", headers)
    publisher.add(0, run, run.content(0))
    publisher.end()
    assert (1, 0) == (q.messages_ready, x.messages_delayed)
