"""backup_create: the running node's data as of one moment, in a folder with checksums."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from pybroker.control.spec import Work


class Args(NamedTuple):
    """The destination."""

    folder: Annotated[str, Arg("folder for the backup: new or empty", names="file")]


def run(node: Node, args: Args) -> "Work":
    """Copy, and return what was copied."""
    assert node.tool is not None
    return node.tool.create_backup(args.folder)


COMMAND = Command(
    name="backup_create",
    section="Data",
    summary="Backs up the running node's messages and definitions to a new folder, with checksums",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Backing up node {node} to {folder} ...",
    app="any",
    offline="held",
)
