from pybroker.core.routing.router import route
from tests.topology import exchange, link, new_vhost, queue


def test_its_routes_are_not_kept():
    vhost = new_vhost()
    exchange(vhost, "x", "x-random")
    queue(vhost, "q")
    link(vhost, "x", "q")
    assert route(vhost, vhost.exchanges["x"], ["k"], None).dynamic
