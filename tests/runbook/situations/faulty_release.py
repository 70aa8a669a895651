"""A queue whose consumers must not go on."""

from tests.ctl.live_node import LiveNode

SYMPTOM = "A faulty release consumes messages, and they must wait"


def prepare(node: LiveNode) -> None:
    """Declare it."""
    node.declare_queues(["orders"])
