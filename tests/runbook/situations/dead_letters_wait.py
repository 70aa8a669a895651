"""Messages were rejected while a consumer had a fault."""

from pamqp import commands

from tests.ctl.live_node import LiveNode

SYMPTOM = "Dead letters wait, and the fault that caused them is fixed"
COUNT = 20


def prepare(node: LiveNode) -> None:
    """Reject some messages of a queue that dead-letters."""
    with node.peer() as peer:
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead-letters"}
        for name, given in (("dead-letters", {}), ("orders", arguments)):
            peer.call(commands.Queue.Declare(queue=name, arguments=given), commands.Queue.DeclareOk)
        for _ in range(COUNT):
            peer.publish("", "orders", b"{}")
        peer.call(commands.Basic.Qos(prefetch_count=COUNT), commands.Basic.QosOk)
        peer.call(commands.Basic.Consume(queue="orders"), commands.Basic.ConsumeOk)
        for _ in range(COUNT):
            tag = peer.read_delivery().method.delivery_tag
        peer.send(commands.Basic.Nack(delivery_tag=tag, multiple=True, requeue=False))
        peer.close()
    node.wait_for("list_queues -s name messages", f"dead-letters\t{COUNT}\norders\t0\n")
