"""Why a message that is ready is not delivered."""

from pamqp import commands

from pybroker.core.events.cause import BROKER
from pybroker.core.message_trace.waiting import why_waiting

Basic, Channel, Exchange = commands.Basic, commands.Channel, commands.Exchange


def why(world) -> str:
    return why_waiting(world.vhost.queues["q"])["why"]


def test_nobody_consumes(world, peer):
    peer.publish("", "q")
    assert {"why": "no_consumer", "messages_ready": 1, "consumers": 0} == why_waiting(world.vhost.queues["q"])


def test_consumers_are_at_their_prefetch_limit(world, peer):
    peer.send(Basic.Qos(prefetch_count=1))
    peer.consume("q")
    for _ in range(3):
        peer.publish("", "q")
    assert {"why": "prefetch", "messages_unacknowledged": 1, "messages_ready": 2, "consumers": 1} == why_waiting(
        world.vhost.queues["q"]
    )


def test_a_consumer_has_stopped_deliveries(world, peer):
    worker = world.connect()
    worker.consume("q")
    worker.call(Channel.Flow(active=False))
    peer.publish("", "q")
    assert why(world) == "channel_flow"


def test_a_consumer_does_not_read(world, peer):
    worker = world.connect()
    worker.consume("q")
    worker.session.outbox_full = True
    peer.publish("", "q")
    assert why(world) == "not_read"
    worker.session.outbox_full = False


def test_other_messages_come_first(world, peer):
    peer.consume("q")
    queue = world.vhost.queues["q"]
    assert why(world) == "behind"
    queue.hold()
    assert why(world) == "returns"
    queue.release()


def test_an_operator_paused_the_queue_or_its_consumers(world, peer):
    peer.consume("q")
    queue = world.vhost.queues["q"]
    pauses = world.broker.pauses
    pauses.pause_queue(queue, "maintenance", BROKER, publish=False)
    assert why(world) == "paused"
    pauses.resume_queue(queue, BROKER)
    assert why(world) == "behind"
    pauses.pause_consumer(next(iter(queue.consumers)), "maintenance", BROKER)
    assert why(world) == "paused"


def test_a_schedule_has_its_own_reasons(world, peer):
    arguments = {"x-delayed-type": "fanout"}
    peer.call(Exchange.Declare(exchange="later", exchange_type="x-delayed-message", arguments=arguments))
    assert why_waiting(world.vhost.exchanges["later"].schedule) == {}
