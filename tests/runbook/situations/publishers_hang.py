"""A memory alarm blocks every publisher."""

from tests.ctl.live_node import LiveNode

SYMPTOM = "Publishers hang, and no error is reported"


def prepare(node: LiveNode) -> None:
    """Set a limit that any node exceeds."""
    assert node.ctl("set_vm_memory_high_watermark", "0").returncode == 0
