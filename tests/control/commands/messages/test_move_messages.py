import pytest
from pamqp import commands

from pybroker.control.spec import BadArguments, Refused

Exchange, Queue = commands.Exchange, commands.Queue


@pytest.fixture
def queues(operator, peer):
    """Five messages are in `a`, `b` is empty."""
    for name in ("a", "b"):
        peer.declare(name)
    for number in range(5):
        peer.publish("", "a", b"%d" % number, delivery_mode=2)
    return operator


def counts(operator):
    return dict(operator.list("list_queues", "name", "messages_ready"))


def test_all_of_a_queue_goes_to_another(queues):
    answer = queues.ask("move_messages", source="a", to="b")
    assert ("5 messages moved", 5, False) == (answer["message"], answer["messages"], answer["dry_run"])
    assert {"a": 0, "b": 5} == counts(queues)


def test_so_many_go_and_none_in_a_dry_run(queues):
    answer = queues.ask("move_messages", source="a", to="b", number=2, dry_run=True)
    assert ("2 messages would be moved", 2) == (answer["message"], answer["messages"])
    assert {"a": 5, "b": 0} == counts(queues)
    assert "2 messages moved" == queues.ask("move_messages", source="a", to="b", number=2)["message"]
    assert {"a": 3, "b": 2} == counts(queues)


def test_to_an_exchange_with_its_own_key_or_another(queues, peer):
    peer.call(Exchange.Declare(exchange="x", exchange_type="direct"))
    peer.call(Queue.Bind(queue="b", exchange="x", routing_key="k"))
    with pytest.raises(Refused) as refused:
        queues.ask("move_messages", source="a", to_exchange="x")
    assert refused.value.exit_code == 65
    assert refused.value.text == "exchange 'x' in vhost '/' routes messages with key 'a' to no queue"
    assert {"messages": 0}.items() <= refused.value.facts.items()
    assert "5 messages moved" == queues.ask("move_messages", source="a", to_exchange="x", routing_key="k")["message"]
    assert {"a": 0, "b": 5} == counts(queues)
    moved = peer.get("b", no_ack=True)
    assert ("x", "k", b"0") == (moved.method.exchange, moved.method.routing_key, moved.body)


def test_what_went_before_a_refusal_is_told(queues, peer):
    peer.call(Queue.Delete(queue="b"))
    peer.declare("b", arguments={"x-max-length": 3})
    with pytest.raises(Refused) as refused:
        queues.ask("move_messages", source="a", to="b")
    assert "3 messages moved, then it stopped: queue 'b' in vhost '/' is full" == refused.value.text
    assert (75, 3) == (refused.value.exit_code, refused.value.facts["messages"])
    assert {"a": 2, "b": 3} == counts(queues)


@pytest.mark.parametrize(
    ("arguments", "count"), [({"x-max-length": 3}, 3), ({"x-max-length-bytes": 4, "x-overflow": "reject-publish"}, 4)]
)
@pytest.mark.parametrize("given", [{}, {"older_than": "0ms"}])
def test_a_dry_run_tells_what_would_stop_the_move(queues, peer, arguments, count, given):
    peer.declare("small", arguments)
    queues.world.advance(10)
    with pytest.raises(Refused) as refused:
        queues.ask("move_messages", source="a", to="small", dry_run=True, **given)
    text = f"{count} messages would be moved, then it would stop: queue 'small' in vhost '/' is full"
    assert (text, 75) == (refused.value.text, refused.value.exit_code)
    assert {"messages": count, "dry_run": True}.items() <= refused.value.facts.items()
    answer = queues.ask("move_messages", source="a", to="small", dry_run=True, number=count, **given)
    assert f"{count} messages would be moved" == answer["message"]
    assert {"a": 5, "b": 0, "small": 0} == counts(queues)


def test_a_dry_run_looks_at_routes(queues, peer):
    peer.call(Exchange.Declare(exchange="x", exchange_type="headers"))
    peer.call(Queue.Bind(queue="b", exchange="x", arguments={"kind": "a"}))
    peer.publish("", "a", headers={"kind": "b"})
    with pytest.raises(Refused) as refused:
        queues.ask("move_messages", source="a", to_exchange="x", dry_run=True)
    assert refused.value.text == "exchange 'x' in vhost '/' routes messages with key 'a' to no queue"
    answer = queues.ask("move_messages", source="a", to_exchange="amq.topic", routing_key="k", where=["kind=c"])
    assert "0 messages moved" == answer["message"]


def test_delayed_messages_stay_and_are_told(queues, peer):
    peer.declare("c", {"x-delayed-retry-type": "all", "x-delayed-retry-min": 60_000})
    for _ in range(3):
        peer.publish("", "c")
    for _ in range(2):
        got = peer.get("c", no_ack=False)
        peer.send(commands.Basic.Nack(delivery_tag=got.method.delivery_tag, requeue=True))
    answer = queues.ask("move_messages", source="c", to="b", dry_run=True)
    assert ("1 message would be moved; 2 delayed messages stay", 2) == (answer["message"], answer["messages_delayed"])
    assert "1 message moved; 2 delayed messages stay" == queues.ask("move_messages", source="c", to="b")["message"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"to": "b", "to_exchange": "x"},
        {"to": "b", "routing_key": "k"},
        {"to": "b", "number": 0},
        {"to": "b", "rate": "fast"},
        {"to": "b", "rate": "0/s"},
        {"to_exchange": "x", "routing_key": "k" * 256},
    ],
)
def test_bad_arguments(queues, given):
    with pytest.raises(BadArguments):
        queues.ask("move_messages", source="a", **given)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"source": "c", "to": "b"}, "queue 'c' was not found in virtual host '/'"),
        ({"source": "a", "to": "c"}, "queue 'c' was not found in virtual host '/'"),
        ({"source": "a", "to": "a"}, "source and target are the same queue, 'a'"),
        ({"source": "a", "to_exchange": "amq.rabbitmq.trace"}, "is internal: nothing can be published there"),
        ({"source": "a", "to_exchange": "amq.rabbitmq.event"}, "is internal: nothing can be published there"),
    ],
)
def test_refused_before_any_effect(queues, given, text):
    with pytest.raises(Refused, match=text):
        queues.ask("move_messages", **given)
    assert {"a": 5, "b": 0} == counts(queues)


def test_a_stream_is_a_target_and_no_source(queues, peer):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    assert "5 messages moved" == queues.ask("move_messages", source="a", to="s")["message"]
    assert counts(queues)["s"] == 5
    with pytest.raises(Refused, match="queue 's' is a stream: its messages stay there, so none can be moved"):
        queues.ask("move_messages", source="s", to="b")
