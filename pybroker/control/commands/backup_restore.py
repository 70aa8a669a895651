"""backup_restore: a backup becomes the data folder of a node."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from pybroker.control.spec import Work


class Args(NamedTuple):
    """Which, and where to."""

    folder: Annotated[str, Arg("folder of the backup", names="file")]
    data_dir: Annotated[
        str | None,
        Arg(
            "data folder that is to be made; it holds nothing yet, and is the usual one unless given",
            "--data-dir",
            "folder",
            names="file",
        ),
    ] = None


def run(node: Node, args: Args) -> "Work":
    """Copy, and return what was copied."""
    assert node.tool is not None
    return node.tool.restore_backup(args.folder, args.data_dir)


COMMAND = Command(
    name="backup_restore",
    section="Data",
    summary="Copies a backup into a data folder that holds nothing, for a node that is started there afterwards",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Restoring the backup {folder} ...",
    app="any",
    beside="alone",
)
