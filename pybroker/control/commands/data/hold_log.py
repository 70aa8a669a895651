"""hold_log: the log as it is on disk, held still while the caller is connected. pybrokerctl asks so for its tools."""

from typing import TYPE_CHECKING

from pybroker.control.spec import Command, NoArgs, Node

if TYPE_CHECKING:
    from pybroker.control.spec import Work


def run(node: Node, args: NoArgs) -> "Work":
    """Say what is held, then go on until the caller leaves."""
    del args
    return node.daemon.hold_log(node.pause)


COMMAND = Command(
    name="hold_log",
    section="Data",
    summary="Tells what of the log is on disk, and keeps it there while the caller stays connected",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    app="any",
)
