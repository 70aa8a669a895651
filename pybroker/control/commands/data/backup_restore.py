"""backup_restore: a backup becomes the data folder of a node."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from pybroker.control.spec import Work


class Args(NamedTuple):
    """The backup and the destination."""

    folder: Annotated[str, Arg("folder of the backup", names="file")]
    data_dir: Annotated[
        str | None,
        Arg(
            "data folder to create; new or empty; default: the usual one",
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
    summary="Restores a backup to an empty data folder, from which a node can start",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Restoring the backup {folder} ...",
    app="any",
    offline="alone",
)
