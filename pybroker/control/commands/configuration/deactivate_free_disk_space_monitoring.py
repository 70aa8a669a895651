"""deactivate_free_disk_space_monitoring: watch the free disk space no longer; until the node stops."""

from pybroker.control import alarms
from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> str:
    """Clear the alarm; only a disk that is full still sets it."""
    del args
    node.daemon.watch_disk(on=False)
    text = "Disk space monitoring is deactivated until it is activated again or the node restarts"
    return text + alarms.told_of_blocking(node.broker, node.broker.alarms.disk)


COMMAND = Command(
    name="deactivate_free_disk_space_monitoring",
    section="Configuration",
    summary="Deactivates monitoring of free disk space, which clears the disk alarm",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    banner="Deactivating free disk space monitoring on node {node}...",
    timeout_s=60,
)
