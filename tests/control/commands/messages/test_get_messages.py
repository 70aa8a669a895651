import pytest
from pamqp.commands import Basic

from pybroker.control import commands
from pybroker.control.access import ActingUser
from pybroker.control.spec import BadArguments, Refused
from pybroker.errors import AccessRefused, MethodNotImplemented


@pytest.fixture
def get(operator, peer):
    peer.declare("q")
    for text in (b"one", b"two", b"three"):
        peer.publish("", "q", text)
    return lambda **given: [
        one["body"] for batch in operator.stream("get_messages", **{"queue": "q", **given}) for one in batch
    ]


def test_one_is_taken_and_put_back(get, peer, operator):
    assert ["one"] == get()
    assert ["one", "two"] == get(number=2, requeue=True)
    assert [3] == operator.list("list_queues", "messages_ready")
    reply = peer.get("q")
    assert (reply.body, reply.method.redelivered) == (b"one", True)


def test_acknowledged_ones_are_gone(get, operator):
    assert ["one", "two"] == get(number=2, ack=True)
    assert ["three"] == get(number=9)
    assert [[1, 0]] == operator.list("list_queues", "messages_ready", "messages_unacknowledged")


def test_rejected_ones_are_dead_letters(get, operator, peer):
    peer.declare("dead")
    peer.declare("late", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    peer.publish("", "late", b"four")
    assert ["four"] == get(queue="late", reject=True)
    operator.world.run()
    assert peer.get("dead").body == b"four"


def test_bodies_are_whole_before_they_are_gone(get, peer):
    for text in (b"x" * 2_000, b"y" * 2_000):
        peer.publish("", "q", text)
    assert ["one", "two", "three", "x" * 1_024, "y" * 1_024] == get(number=9)
    assert ["x" * 2_000, "y" * 10] == [get(number=4, ack=True)[3], *get(ack=True, body_size=10)]


def test_raw_bodies_are_whole(get):
    assert ["b25l"] == get(format="raw")


@pytest.mark.parametrize(
    "given",
    [
        {"ack": True, "requeue": True},
        {"ack": True, "reject": True},
        {"number": 0},
        {"number": 10_001},
        {"body_size": -1},
    ],
)
def test_wrong_arguments_are_refused(operator, given):
    with pytest.raises(BadArguments):
        operator.stream("get_messages", queue="q", **given)


def test_a_user_needs_permission_to_read(get, operator):
    operator.ask("add_user", username="u", password="p")
    with pytest.raises(AccessRefused, match="read access"):
        list(operator.stream("get_messages", ActingUser("u"), queue="q"))


def test_an_unknown_queue_is_refused(operator):
    with pytest.raises(Refused):
        list(operator.stream("get_messages", queue="q"))


def test_what_cannot_be_got_is_counted(operator, peer):
    peer.declare("late", arguments={"x-retry-delays": "1h"})
    for body in (b"1", b"2"):
        peer.publish("", "late", body)
    peer.send(Basic.Nack(peer.get("late", no_ack=False).method.delivery_tag, requeue=True))
    peer.get("late", no_ack=False)
    operator.world.run()
    stream = commands.load("get_messages").run(operator._node(), commands.load("get_messages").args("late"))
    assert next(stream) == []
    with pytest.raises(StopIteration) as end:
        next(stream)
    assert end.value.value == {"messages_ready": 0, "messages_unacknowledged": 1, "messages_delayed": 1}


def test_nobody_gets_a_message_of_a_stream(operator, peer):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    with pytest.raises(MethodNotImplemented, match=r"basic.get not supported by stream queues queue 's' in vhost '/'"):
        list(operator.ask("get_messages", queue="s"))
