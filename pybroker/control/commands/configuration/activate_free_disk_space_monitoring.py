"""activate_free_disk_space_monitoring: watch the free disk space again; until the node stops."""

from pybroker.control import alarms
from pybroker.control.spec import Command, NoArgs, Node
from pybroker.humanize import size


def run(node: Node, args: NoArgs) -> str:
    """Look at once, and set the alarm if there is too little."""
    del args
    node.daemon.watch_disk(on=True)
    marks = node.broker.settings.watermarks
    limit, free = marks.disk_limit_octets, marks.measured.disk_free
    if free is None:
        return "Disk space monitoring will be active as soon as the system reports free space; see the log"
    text = f"Disk space monitoring is active: {size(free)} free, {size(limit)} required"
    return text + alarms.told_of_blocking(node.broker, node.broker.alarms.disk)


COMMAND = Command(
    name="activate_free_disk_space_monitoring",
    section="Configuration",
    summary="Activates monitoring of free disk space again",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    banner="[Re-]activating free disk space monitoring on node {node}...",
    timeout_s=60,
)
