"""x-delayed-message against a list that is sorted: delays, times, clocks that are set."""

from hypothesis import given, settings, strategies as st

from tests.fakes import Exchange, Queue, World


def world_with_delays():
    world = World()
    peer = world.connect()
    arguments = {"x-delayed-type": "direct"}
    peer.call(Exchange.Declare(exchange="x", exchange_type="x-delayed-message", arguments=arguments))
    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="x", routing_key="k"))
    return world, peer


# The model: what is sorted by due time and order of publishing, and whatever is due has left.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("delay"), st.integers(1, 40)),
        st.tuples(st.just("time"), st.integers(1, 40)),
        st.tuples(st.just("pass"), st.integers(0, 15)),
        st.tuples(st.just("set"), st.integers(-20, 20)),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_whatever_is_due_has_left_in_order(steps):
    world, peer = world_with_delays()
    waiting, expected = [], []
    for number, (what, value) in enumerate(steps):
        now, wall = world.clock.now_ms, world.clock.timestamp_ms
        if what == "delay":
            peer.publish("x", "k", b"%d" % number, headers={"x-delay": 100 * value})
            waiting.append(("delay", now + 100 * value, number))
        elif what == "time":
            peer.publish("x", "k", b"%d" % number, headers={"x-deliver-at": wall + 100 * value})
            waiting.append(("time", wall + 100 * value, number))
        elif what == "set":
            world.clock.timestamp_ms += 100 * value
        else:
            world.advance(100 * value)
            # Times are looked at once a second.
            world.advance(1_000)
            now, wall = world.clock.now_ms, world.clock.timestamp_ms
            due = [each for each in waiting if each[1] <= (now if each[0] == "delay" else wall)]
            waiting = [each for each in waiting if each not in due]
            expected += [b"%d" % each[2] for each in due]
    found = [message.body for message in peer.drain("q")]
    assert sorted(expected) == sorted(found)
    assert len(waiting) == world.vhost.exchanges["x"].messages_delayed
