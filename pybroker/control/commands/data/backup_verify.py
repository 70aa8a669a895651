"""backup_verify: a backup is read and compared with what it says of itself."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from pybroker.control.spec import Work


class Args(NamedTuple):
    """The backup."""

    folder: Annotated[str, Arg("folder of the backup", names="file")]


def run(node: Node, args: Args) -> "Work":
    """Read, and return what there is. Raises Refused when something is damaged."""
    assert node.tool is not None
    return node.tool.verify_backup(args.folder)


COMMAND = Command(
    name="backup_verify",
    section="Data",
    summary="Verifies the checksum of every file of a backup, and every record of its log",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    banner="Verifying the backup {folder} ...",
    app="any",
    offline="alone",
)
