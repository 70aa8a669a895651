from collections import deque

import pytest
from hypothesis import given, strategies as st

from pybroker.core.exchange import recent_history
from pybroker.core.routing.inbound_message import InboundMessage
from pybroker.core.routing.publish import names_of
from pybroker.core.routing.router import route
from pybroker.message import Message
from pybroker.run import PLAIN_ATTRIBUTES
from pybroker.wire.table import Table
from tests.topology import exchange, link, new_vhost, queue, reached, refused, typed, unlink, wired

TYPE = "x-recent-history"


def send(vhost, body, headers=None):
    """Publish as a channel does that looks at each message."""
    size = len(body)
    content = b"\2\0\1" + (14).to_bytes(4) + bytes(4) + size.to_bytes(8) + b"\0\0\xce"
    content += b"\3\0\1" + size.to_bytes(4) + body + b"\xce"
    inbound = InboundMessage(names_of("x", "k"), PLAIN_ATTRIBUTES, content, 1, 0)
    return route(vhost, vhost.exchanges["x"], ["k"], headers, inbound=inbound)


def bodies(q):
    return [Message(entry.run, index).body for level in q.backlog.levels for entry in level for index in entry.indexes]


@given(st.integers(1, 5), st.lists(st.booleans(), max_size=9))
def test_the_last_ones_go_to_whoever_is_bound(length, stored):
    vhost = new_vhost()
    exchange(vhost, "x", TYPE, wired(x_recent_history_length=length))
    model = deque(maxlen=length)
    for number, store in enumerate(stored):
        body = str(number).encode()
        send(vhost, body, None if store else Table({"x-recent-history-no-store": True}))
        if store:
            model.append(body)
    q = queue(vhost, "q")
    link(vhost, "x", "q")
    assert list(model) == bodies(q)
    link(vhost, "x", "q")
    assert list(model) == bodies(q)
    link(vhost, "x", "q", "another key")
    assert [*model, *model] == bodies(q)


def test_twenty_are_kept_unless_another_length_is_declared():
    vhost = new_vhost()
    exchange(vhost, "x", TYPE)
    for number in range(30):
        send(vhost, b"%d" % number)
    q = queue(vhost, "q")
    link(vhost, "x", "q")
    assert bodies(q) == [b"%d" % number for number in range(10, 30)]


def test_it_is_a_fanout_whose_routes_are_not_kept():
    vhost = new_vhost()
    exchange(vhost, "x", TYPE)
    for name in "ab":
        queue(vhost, name)
        link(vhost, "x", name, name)
    assert reached(vhost, "x", "any") == ["a", "b"]
    assert send(vhost, b"m").dynamic


def test_an_exchange_that_is_bound_routes_them_on():
    vhost = new_vhost()
    exchange(vhost, "x", TYPE)
    exchange(vhost, "y", "direct")
    q = queue(vhost, "q")
    link(vhost, "y", "q", "k")
    send(vhost, b"m")
    link(vhost, "x", "x:y", "all")
    assert bodies(q) == [b"m"]


def test_a_probe_is_no_message():
    vhost = new_vhost()
    exchange(vhost, "x", TYPE)
    route(vhost, vhost.exchanges["x"], ["k"], None, probe=True)
    q = queue(vhost, "q")
    link(vhost, "x", "q")
    assert bodies(q) == []


@pytest.mark.parametrize(
    ("letter", "value", "shown"),
    [("I", 0, "0"), ("I", -1, "-1"), ("S", "5", '<<"5">>'), ("t", True, "true"), ("V", None, "undefined")],
)
def test_a_length_that_is_no_positive_integer_is_refused(letter, value, shown):
    text = f"Invalid argument {shown}, 'x-recent-history-length' must be a positive integer"
    arguments = typed("x-recent-history-length", letter, value)
    assert refused(exchange, new_vhost(), "x", TYPE, arguments) == (406, text)


def test_many_are_given_a_share_in_each_turn_as_long_as_the_binding_is_there(monkeypatch):
    monkeypatch.setattr(recent_history, "SHARE_MESSAGES", 2)
    vhost = new_vhost()
    exchange(vhost, "x", TYPE)
    for number in range(5):
        send(vhost, b"%d" % number)
    first, second = queue(vhost, "first"), queue(vhost, "second")
    link(vhost, "x", "first")
    link(vhost, "x", "second")
    assert [b"0", b"1"] == bodies(first) == bodies(second)
    unlink(vhost, "x", "second")
    while vhost.broker.turn.queues:
        vhost.broker.pump()
    assert [b"0", b"1", b"2", b"3", b"4"] == bodies(first)
    assert [b"0", b"1"] == bodies(second)
