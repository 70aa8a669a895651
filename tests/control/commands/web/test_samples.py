"""Figures of the node and its virtual hosts."""

from pybroker.control.commands.web import samples
from pybroker.control.objects import lengths


def test_figures_of_the_node_and_of_virtual_hosts(operator, two):
    found = operator.ask("samples")
    node = dict(zip(found["node_names"], found["node"], strict=True))
    assert (node["publish"], node["messages_ready"], node["connections"]) == (4, 4, 1)
    assert node["fd_used"] > 0
    vhost = dict(zip(found["vhost_names"], found["vhosts"]["/"], strict=True))
    assert (vhost["publish"], vhost["messages"]) == (4, 4)
    assert vhost["recv_oct"] > 0
    assert sum(found["vhosts"]["other"]) == 0
    assert all(isinstance(value, int) for value in (*found["node"], *found["vhosts"]["/"]))


def test_of_very_many_virtual_hosts_it_tells_the_first(operator, two, monkeypatch):
    monkeypatch.setattr(samples, "VHOSTS_MAX", 1)
    assert list(operator.ask("samples")["vhosts"]) == ["/"]


def test_very_many_queues_are_counted_in_shares(operator, peer, monkeypatch):
    monkeypatch.setattr(lengths, "QUEUES_PER_STEP", 1)
    operator.pauses.clear()
    operator.ask("samples")
    count = len(operator.pauses)
    peer.declare("q")
    operator.pauses.clear()
    operator.ask("samples")
    assert len(operator.pauses) == count + 1
