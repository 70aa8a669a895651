"""backup_create: the running node's data as of one moment, in a folder with checksums."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from pybroker.control.spec import Work


class Args(NamedTuple):
    """Where to."""

    folder: Annotated[str, Arg("folder of the backup: a new one, or one that is empty", names="file")]


def run(node: Node, args: Args) -> "Work":
    """Copy, and return what was copied."""
    assert node.tool is not None
    return node.tool.create_backup(args.folder)


COMMAND = Command(
    name="backup_create",
    section="Data",
    summary="Copies the running node's messages and definitions as of this moment into a new folder, with checksums",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Backing node {node} up into {folder} ...",
    app="any",
    beside="held",
)
