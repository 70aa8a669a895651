"""A queue whose first message no consumer can handle."""

from tests.ctl.live_node import LiveNode

SYMPTOM = "The first message of a queue has to go"


def prepare(node: LiveNode) -> None:
    """Declare the queue, and publish to it."""
    node.declare_queues(["orders"])
    assert node.ctl("publish", "poison", "--queue", "orders").returncode == 0
