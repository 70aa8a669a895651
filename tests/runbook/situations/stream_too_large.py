"""A stream with more messages than anybody wants."""

from tests.ctl.live_node import LiveNode

SYMPTOM = "A stream takes too much room"


def prepare(node: LiveNode) -> None:
    """Publish some."""
    node.declare_streams(["events"], 200)
