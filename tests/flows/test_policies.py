"""Policies as clients see them: F9 to F13, F43, A15 to A17, through channels."""

import pytest

from tests.fakes import Basic, Exchange, Queue


def rule(world, definition, *, name="p", pattern="", component="policy", **more):
    value = {"pattern": pattern, "definition": definition, "priority": 0, **more}
    world.broker.parameters.set("/", component, name, value)
    world.run()


def limited(world, definition):
    """Set an operator policy for all queues."""
    rule(world, definition, name="o", component="operator_policy")


def bodies(peer, queue):
    return [message.body for message in peer.drain(queue)]


def fill(peer, queue, count=5):
    for number in range(count):
        peer.publish("", queue, b"%d" % number)


def test_a15_an_unroutable_message_goes_to_the_alternate_exchange_of_a_policy(world, peer):
    peer.call(Exchange.Declare(exchange="my-direct"))
    peer.call(Exchange.Declare(exchange="my-ae", exchange_type="fanout"))
    peer.declare("unrouted")
    peer.call(Queue.Bind(queue="unrouted", exchange="my-ae"))
    peer.publish("my-direct", "k", b"lost")
    rule(world, {"alternate-exchange": "my-ae"}, pattern="^my-direct$", **{"apply-to": "exchanges"})
    peer.publish("my-direct", "k", b"kept")
    world.broker.parameters.clear("/", "policy", "p")
    peer.publish("my-direct", "k", b"lost again")
    assert [b"kept"] == bodies(peer, "unrouted")


def test_a17_a_policys_is_none_that_a_redeclaration_is_compared_with(world, peer):
    rule(world, {"alternate-exchange": "my-ae"})
    peer.call(Exchange.Declare(exchange="x"))
    peer.call(Exchange.Declare(exchange="x"))
    error = peer.error(Exchange.Declare(exchange="x", arguments={"alternate-exchange": "my-ae"}))
    text = (
        "inequivalent arg 'alternate-exchange' for exchange 'x' in vhost '/': "
        "received the value 'my-ae' of type 'longstr' but current is none"
    )
    assert (406, f"PRECONDITION_FAILED - {text}") == error


def test_f12_of_argument_and_policy_the_shorter_length_counts(world, peer):
    rule(world, {"max-length": 3})
    for queue, arguments in (("two", {"x-max-length": 2}), ("four", {"x-max-length": 4}), ("none", {})):
        peer.declare(queue, arguments=arguments)
        fill(peer, queue)
    assert [2, 3, 3] == [len(bodies(peer, queue)) for queue in ("two", "four", "none")]


def test_f12_a_redeclaration_is_compared_with_arguments_alone(world, peer):
    rule(world, {"max-length": 3})
    peer.declare("q", arguments={"x-max-length": 9})
    peer.declare("q", arguments={"x-max-length": 9})
    assert 406 == peer.error(Queue.Declare(queue="q", arguments={"x-max-length": 3}))[0]


def test_f13_an_operators_overflow_wins_against_the_clients(world, peer):
    peer.declare("q", arguments={"x-max-length": 2, "x-overflow": "reject-publish"})
    fill(peer, "q")
    assert [b"0", b"1"] == bodies(peer, "q")
    limited(world, {"overflow": "drop-head"})
    fill(peer, "q")
    assert [b"3", b"4"] == bodies(peer, "q")


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
def test_f13_an_operators_limits_hold_for_what_waits(world, peer, queue_type):
    peer.declare("q", durable=True, arguments={"x-queue-type": queue_type, "x-max-length": 4, "x-message-ttl": 60_000})
    fill(peer, "q")
    limited(world, {"max-length": 2})
    rule(world, {"max-length": 3, "message-ttl": 90_000})
    assert [b"3", b"4"] == bodies(peer, "q")
    fill(peer, "q")
    limited(world, {"message-ttl": 1_000})
    world.advance(1_000)
    assert [] == bodies(peer, "q")


def test_a_delivery_limit_of_a_policy_counts_for_what_is_out(world, peer):
    peer.declare("q")
    peer.declare("dead")
    fill(peer, "q", 1)
    rule(
        world,
        {"delivery-limit": 1, "dead-letter-exchange": "", "dead-letter-routing-key": "dead"},
        pattern="^q$",
    )
    for _ in range(2):
        got = peer.call(Basic.Get(queue="q"))
        peer.send(Basic.Reject(delivery_tag=got.method.delivery_tag, requeue=True))
    world.run()
    assert ([], [b"0"]) == (bodies(peer, "q"), bodies(peer, "dead"))


def test_a_queue_that_a_policy_lets_expire_goes_when_it_is_unused(world, peer):
    peer.declare("q")
    rule(world, {"expires": 1_000})
    world.advance(999)
    peer.call(Basic.Get(queue="q"))
    world.advance(999)
    assert "q" in world.vhost.queues
    world.advance(1)
    assert {} == world.vhost.queues


def test_an_exclusive_queue_is_under_policies_as_well(world, peer):
    rule(world, {"max-length": 1})
    peer.declare("q", exclusive=True)
    fill(peer, "q")
    assert [b"4"] == bodies(peer, "q")


def test_f9_a_quorum_queue_is_declared_again_as_a_classic_one_where_that_is_permitted(world, peer):
    peer.declare("q", durable=True, arguments={"x-queue-type": "quorum"})
    classic = Queue.Declare(queue="q", durable=True, arguments={"x-queue-type": "classic"})
    text = "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received 'classic' but current is 'quorum'"
    assert (406, f"PRECONDITION_FAILED - {text}") == peer.error(classic)
    world.broker.settings.relaxed_redeclaration = True
    assert isinstance(peer.call(classic), Queue.DeclareOk)


def test_f43_a_queue_without_a_type_gets_the_vhosts(world, peer):
    world.vhost.describe(default_queue_type="quorum")
    peer.declare("q", durable=True)
    peer.declare("transient")
    assert {"q": "quorum", "transient": "classic"} == {name: queue.type for name, queue in world.vhost.queues.items()}


def test_f10_an_argument_that_nobody_knows_is_kept_and_warned_about_once(world, peer, caplog):
    for queue in "ab":
        peer.declare(queue, arguments={"x-unheard-of": 1})
    assert {"x-unheard-of": 1} == dict(world.vhost.queues["b"].arguments)
    said = [record.message for record in caplog.records if "x-unheard-of" in record.message]
    assert ["argument 'x-unheard-of' of queue 'a' in vhost '/' is unknown: stored, but without effect"] == said


@pytest.mark.parametrize(("value", "fault"), [(-1, "{value_negative,-1}"), ("a", '"expected integer, got longstr"')])
def test_f10_a_consumer_timeout_is_a_number_of_milliseconds(world, peer, value, fault):
    peer.declare("q", arguments={"x-consumer-timeout": 60_000})
    assert 60_000 == world.vhost.queues["q"].limits.consumer_timeout_ms
    error = peer.error(Queue.Declare(queue="r", arguments={"x-consumer-timeout": value}))
    assert (406, f"PRECONDITION_FAILED - invalid arg 'x-consumer-timeout' for queue 'r' in vhost '/': {fault}") == error


def test_a_consumer_timeout_of_a_policy_counts_for_what_is_out(world, peer):
    peer.declare("q")
    fill(peer, "q", 1)
    peer.call(Basic.Consume(queue="q", consumer_tag="c"))
    assert b"0" == peer.next().body
    peer.call(Basic.Cancel(consumer_tag="c"))
    rule(world, {"consumer-timeout": 5_000})
    for _ in range(7):
        world.advance(1_000)
    assert 0 == world.vhost.queues["q"].messages_unacknowledged
