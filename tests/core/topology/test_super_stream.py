"""Super streams are made and deleted as a whole: all or none."""

import pytest

from pybroker.core.events.cause import BROKER
from pybroker.core.routing.partitions import partitions
from pybroker.core.topology.super_stream import (
    AlreadyThereError,
    create_super_stream,
    delete_super_stream,
)
from pybroker.errors import AmqpError
from pybroker.wire.table import Table
from tests.topology import exchange, new_vhost, queue, reached


def keyed(*keys):
    return [(f"x-{key}", key) for key in keys]


def numbered(count):
    return keyed(*map(str, range(count)))


@pytest.fixture
def vhost():
    return new_vhost()


def make(vhost, wanted=None, arguments=None, *, hashed=False):
    wanted = numbered(3) if wanted is None else wanted
    create_super_stream(vhost, None, "x", wanted, arguments or Table(), BROKER, hashed=hashed)


def names(vhost):
    return set(vhost.queues), {name for name in vhost.exchanges if name and not name.startswith("amq.")}


def test_it_is_an_exchange_and_streams_in_their_order(vhost):
    make(vhost, arguments=Table({"x-max-length-bytes": 1_000}))
    made = vhost.exchanges["x"]
    assert (made.TYPE, made.durable, dict(made.arguments)) == ("direct", True, {"x-super-stream": True})
    assert [(each.destination.name, each.routing_key, dict(each.arguments)) for each in partitions(made)] == [
        (f"x-{number}", str(number), {"x-stream-partition-order": number}) for number in range(3)
    ]
    for stream in vhost.queues.values():
        assert stream.type == "stream"
        assert dict(stream.arguments) == {"x-queue-type": "stream", "x-max-length-bytes": 1_000}


def test_keys_choose_a_partition(vhost):
    make(vhost, keyed("emea", "apac"))
    assert reached(vhost, "x", "apac") == ["x-apac"]
    assert [each.destination.name for each in partitions(vhost.exchanges["x"])] == ["x-emea", "x-apac"]


def test_the_exchange_may_hash(vhost):
    make(vhost, hashed=True)
    assert reached(vhost, "x", "hello1") == ["x-1"]


def test_what_exists_is_left_alone(vhost):
    queue(vhost, "x-2")
    with pytest.raises(AlreadyThereError, match="queue 'x-2' in vhost '/' exists already"):
        make(vhost)
    assert names(vhost) == ({"x-2"}, set())
    exchange(vhost, "x", "fanout")
    with pytest.raises(AlreadyThereError, match="exchange 'x' in vhost '/' exists already"):
        make(vhost)


@pytest.mark.parametrize(
    ("wanted", "arguments", "text"),
    [
        ([], {}, "from 1 to 1000 partitions, not 0"),
        (numbered(1_001), {}, "from 1 to 1000 partitions, not 1001"),
        (keyed("a", "a"), {}, "two partitions"),
        (keyed("a", "b"), {"x-max-age": "soon"}, "x-max-age"),
        (keyed("a", "b"), {"x-message-ttl": 5}, "x-message-ttl"),
    ],
)
def test_nothing_is_made_if_something_cannot_be(vhost, wanted, arguments, text):
    with pytest.raises(AmqpError, match=text):
        make(vhost, wanted, Table(arguments))
    assert names(vhost) == (set(), set())


def test_limits_count_all_partitions(vhost):
    vhost.broker.parameters.set(vhost.name, "vhost-limits", "limits", {"max-queues": 2}, BROKER)
    with pytest.raises(AmqpError, match=r"queue limit in vhost '/' \(2\) is reached"):
        make(vhost)
    assert names(vhost) == (set(), set())
    make(vhost, numbered(2))


def test_all_of_it_is_deleted(vhost):
    make(vhost)
    queue(vhost, "other")
    done = []
    assert delete_super_stream(vhost, None, "x", BROKER, done.append) == 0
    vhost.broker.removals.finish()
    assert len(done) == 1
    assert names(vhost) == ({"other"}, set())
    make(vhost)


def test_other_exchanges_are_none(vhost):
    exchange(vhost, "x")
    with pytest.raises(AmqpError, match="exchange 'x' in vhost '/' is no super stream"):
        delete_super_stream(vhost, None, "x", BROKER, list)
    with pytest.raises(AmqpError, match="no exchange 'y'"):
        delete_super_stream(vhost, None, "y", BROKER, list)
    assert "x" in vhost.exchanges


@pytest.mark.parametrize(
    ("wanted", "what"), [([("x-0", "a"), ("x-0", "b")], "name"), ([("x-0", "a"), ("x-1", "a")], "binding key")]
)
def test_partitions_that_share_something_are_refused_by_what_it_is(vhost, wanted, what):
    with pytest.raises(AmqpError) as caught:
        make(vhost, wanted)
    assert f"two partitions of a super stream cannot have the same {what}" in caught.value.text
