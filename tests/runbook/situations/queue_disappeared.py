"""A client deletes a queue."""

from tests.ctl.live_node import LiveNode

SYMPTOM = "A queue has disappeared"


def prepare(node: LiveNode) -> None:
    """Declare it, and delete it."""
    node.declare_queues(["orders"])
    assert node.ctl("delete_queue", "orders").returncode == 0
