"""Counts of a virtual host, with its exchanges and without those that are gone."""

from types import SimpleNamespace

from pybroker.core.stats.traffic import Traffic


def exchange(publish_in, publish_out, returned=0, dropped=0):
    return SimpleNamespace(publish_in=publish_in, publish_out=publish_out, returned=returned, dropped=dropped)


def test_what_exchanges_have_counted_stays_when_they_go():
    exchanges = {"x": exchange(3, 6, 1), "y": exchange(1, 0, 0, 1)}
    traffic = Traffic(exchanges)
    traffic.count_made(2)
    names = ("publish_in", "publish_out", "returned", "dropped")
    before = [traffic.total(name) for name in names]
    assert [4, 6, 1, 1] == before
    traffic.exchange_gone(exchanges.pop("x"))
    assert (before, 4) == ([traffic.total(name) for name in names], traffic.routed)


def test_what_a_virtual_host_has_counted_stays_when_it_goes():
    node, traffic = Traffic({}), Traffic({"x": exchange(3, 6, 1)})
    traffic.count_get(None, no_ack=True)
    traffic.acked = traffic.confirmed = 5
    for _ in range(2):
        node.vhost_gone(traffic)
    names = ("publish_in", "publish_out", "returned", "got_empty", "got", "acked", "confirmed")
    assert [6, 12, 2, 2, 0, 10, 10] == [node.total(name) for name in names]
