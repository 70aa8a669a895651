"""Messages are in a queue whose consumers read another one now."""

from tests.ctl.live_node import LiveNode

SYMPTOM = "Messages wait in a queue that nobody reads any more"


def prepare(node: LiveNode) -> None:
    """Publish some to a queue without consumers."""
    node.declare_queues(["orders", "old-orders"])
    with node.peer() as peer:
        for _ in range(200):
            peer.publish("", "old-orders", b"{}")
        peer.close()
