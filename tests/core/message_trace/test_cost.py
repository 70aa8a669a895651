"""Messages that no trace is about are published as ever, in batches."""

import pytest

from tests.core.message_trace.conftest import names


def is_dynamic(peer, routing_key="q", exchange="") -> bool:
    """Publish, and tell whether messages of this route are looked at one by one."""
    peer.publish(exchange, routing_key)
    found = {
        route.names.routing_key: route for route in peer.session.routes.values() if route.names.exchange == exchange
    }
    return found[routing_key].dynamic


def test_without_a_trace_nobody_looks(peer):
    assert not is_dynamic(peer)


@pytest.mark.parametrize(
    ("which", "looked_at"),
    [
        ({"queue": "q"}, [True, False, False]),
        ({"exchange": ""}, [True, True, False]),
        ({"exchange": "amq.fanout"}, [False, False, True]),
        ({"headers": (("a", "b"),)}, [True, True, True]),
        ({"queue": "q", "exchange": "amq.fanout"}, [False, False, False]),
    ],
)
def test_only_routes_that_it_may_be_about_are_looked_at(peer, follow, which, looked_at):
    peer.declare("other")
    follow(count=1_000, **which)
    routes = [("q", ""), ("other", ""), ("", "amq.fanout")]
    assert [is_dynamic(peer, *route) for route in routes] == looked_at


def test_nobody_looks_any_more_once_there_are_enough(peer, follow):
    trace = follow(queue="q")
    assert is_dynamic(peer)
    assert not is_dynamic(peer), "one was asked for"
    assert names(trace) == ["published", "routed"]
    assert not trace.over


def test_other_virtual_hosts_do_not_notice(world, peer, follow):
    broker = world.broker
    broker.add_vhost("v")
    broker.users.set_permissions("guest", "v", ".*", ".*", ".*")
    other = world.connect(vhost="v")
    other.declare("q")
    assert not is_dynamic(other)
    generation = broker.vhosts["v"].generation
    follow(headers=(("a", "b"),))
    assert is_dynamic(peer)
    assert not is_dynamic(other)
    assert (generation, False) == (broker.vhosts["v"].generation, broker.vhosts["v"].tracing)


def test_the_firehose_looks_at_all(world, peer):
    world.vhost.trace(on=True)
    assert is_dynamic(peer)
