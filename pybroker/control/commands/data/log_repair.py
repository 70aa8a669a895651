"""log_repair: take damaged parts out of the log, and keep them aside."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from pybroker.control.spec import Work


class Args(NamedTuple):
    """The folder."""

    data_dir: Annotated[
        str | None,
        Arg("data folder of a stopped node; default: the usual one", "--data-dir", "folder", names="file"),
    ] = None


def run(node: Node, args: Args) -> "Work":
    """Repair, and return what was found."""
    assert node.tool is not None
    return node.tool.repair_log(args.data_dir)


def banner(args: Args) -> str:
    """Return the banner, which names the folder if one is given."""
    return "Repairing the data folder ..." if args.data_dir is None else "Repairing the data folder {data_dir} ..."


COMMAND = Command(
    name="log_repair",
    section="Data",
    summary="Moves damaged parts of a stopped node's log and definitions to quarantine",
    args=Args,
    effect="destroy",
    access="administrator",
    run=run,
    banner=banner,
    app="any",
    offline="alone",
)
