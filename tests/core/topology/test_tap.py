"""Taps: a stream gets a copy of what goes through an exchange, and nothing goes elsewhere because of it."""

import pytest

from pybroker.core.auth.users import Permission
from pybroker.core.events.cause import BROKER
from pybroker.core.topology.super_stream import create_super_stream
from pybroker.core.topology.tap import close_tap, open_tap
from pybroker.errors import AccessRefused, NotFound, PreconditionFailed
from pybroker.wire.table import Table
from tests.topology import exchange, new_vhost, queue, reached


@pytest.fixture
def vhost():
    return new_vhost()


def tap(vhost, source, *keys, stream="tap", arguments=None, user=None):
    return open_tap(vhost, user, source, stream, keys, arguments, BROKER)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("topic", {}),
        ("fanout", {}),
        ("headers", {}),
        ("x-recent-history", {}),
        ("x-delayed-message", {"x-delayed-type": "topic"}),
    ],
)
def test_everything_goes_to_the_tap_as_well(vhost, kind, arguments):
    exchange(vhost, "x", kind, Table(arguments))
    tap(vhost, "x")
    assert reached(vhost, "x", "any.key") == ["tap"]


def test_the_stream_is_made_once_and_bound_once(vhost):
    exchange(vhost, "x", "topic")
    assert tap(vhost, "x", arguments=Table({"x-max-age": "1h"}))[1] is True
    stream = vhost.queues["tap"]
    assert (stream.type, stream.limits.age_max_ms) == ("stream", 3_600_000)
    assert tap(vhost, "x")[1] is False
    assert len(vhost.bound[stream]) == 1


def test_keys_choose_what_is_kept(vhost):
    exchange(vhost, "x", "topic")
    tap(vhost, "x", "eu.#", "us.#")
    assert reached(vhost, "x", "eu.order") == ["tap"]
    assert reached(vhost, "x", "asia.order") == []


def test_a_direct_exchange_needs_keys(vhost):
    with pytest.raises(PreconditionFailed, match="is direct, so a tap needs the routing keys"):
        tap(vhost, "amq.direct")
    assert "tap" not in vhost.queues
    tap(vhost, "amq.direct", "k")
    assert reached(vhost, "amq.direct", "k") == ["tap"]


@pytest.mark.parametrize("kind", ["x-consistent-hash", "x-modulus-hash", "x-random", "x-super-stream"])
def test_an_exchange_that_chooses_has_no_taps(vhost, kind):
    exchange(vhost, "x", kind)
    with pytest.raises(PreconditionFailed, match="it would change where messages go"):
        tap(vhost, "x", "1")


def test_neither_has_the_default_exchange_nor_a_super_stream(vhost):
    with pytest.raises(PreconditionFailed, match="a tap of the default exchange is not possible"):
        tap(vhost, "", "q")
    create_super_stream(vhost, None, "s", [("s-0", "0")], Table(), BROKER)
    with pytest.raises(PreconditionFailed, match="is a super stream"):
        tap(vhost, "s", "0")


def test_what_exists_must_be_a_stream_and_have_these_arguments(vhost):
    exchange(vhost, "x", "fanout")
    queue(vhost, "q")
    with pytest.raises(PreconditionFailed, match="queue 'q' in vhost '/' is of type classic, not a stream"):
        tap(vhost, "x", stream="q")
    tap(vhost, "x", arguments=Table({"x-max-age": "1h"}))
    with pytest.raises(PreconditionFailed, match="inequivalent arg 'x-max-age'"):
        tap(vhost, "x", arguments=Table({"x-max-age": "2h"}))


def test_there_must_be_the_exchange_and_permission_to_read_it(vhost):
    with pytest.raises(NotFound):
        tap(vhost, "x")
    users = vhost.broker.users
    users.add("ann", "secret")
    ann = users.get("ann")
    ann.permissions["/"] = Permission(".*", ".*", "")
    with pytest.raises(AccessRefused, match=r"exchange 'amq\.topic'"):
        tap(vhost, "amq.topic", user=ann)
    assert "tap" not in vhost.queues


def test_an_end_by_keys_takes_all_of_these_or_none(vhost):
    exchange(vhost, "x", "topic")
    tap(vhost, "x", *"abcdef")
    is_no_tap = "queue 'tap' in vhost '/' is no tap of exchange 'x' in vhost '/'"
    with pytest.raises(PreconditionFailed) as failed:
        close_tap(vhost, None, "x", "tap", ["g", "a", "h"], BROKER)
    assert failed.value.args[0] == f"{is_no_tap} by 'g', 'h', but by 'a', 'b', 'c', 'd' and 2 more"
    assert reached(vhost, "x", "a") == ["tap"]
    with pytest.raises(PreconditionFailed) as failed:
        close_tap(vhost, None, "x", "no", ["g"], BROKER)
    assert failed.value.args[0] == is_no_tap.replace("tap", "no", 1)
    assert len(close_tap(vhost, None, "x", "tap", ["a", "a", "b"], BROKER)) == 2


def test_an_end_of_a_key_that_the_user_may_not_read_takes_none(vhost):
    exchange(vhost, "x", "topic")
    tap(vhost, "x", "a", "b")
    users = vhost.broker.users
    users.add("ann", "secret")
    users.set_permissions("ann", "/", ".*", ".*", ".*")
    users.set_topic_permissions("ann", "/", "x", "", "^a$")
    with pytest.raises(AccessRefused, match="topic 'b'"):
        close_tap(vhost, users.get("ann"), "x", "tap", [], BROKER)
    assert reached(vhost, "x", "a") == ["tap"]


def test_permissions_are_asked_for_once_a_key(vhost, monkeypatch):
    asked = []
    exchange(vhost, "x", "topic")
    monkeypatch.setattr("pybroker.core.topology.tap.check_topic", lambda *call: asked.append(call[-1]))
    monkeypatch.setattr("pybroker.core.topology.exchange_declare.check_topic", lambda *call: asked.append(call[-1]))
    tap(vhost, "x", "a", "b")
    assert asked == ["a", "b"]


def test_an_end_takes_its_bindings_and_leaves_the_stream(vhost):
    exchange(vhost, "x", "topic")
    tap(vhost, "x", "a", "b")
    close_tap(vhost, None, "x", "tap", ["a"], BROKER)
    assert [reached(vhost, "x", key) for key in "ab"] == [[], ["tap"]]
    close_tap(vhost, None, "x", "tap", [], BROKER)
    assert reached(vhost, "x", "b") == []
    assert "tap" in vhost.queues
    with pytest.raises(PreconditionFailed, match="queue 'tap' in vhost '/' is no tap of exchange 'x' in vhost '/'"):
        close_tap(vhost, None, "x", "tap", [], BROKER)
