"""log_verify: every octet of log and definitions is read and its checksum compared."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from pybroker.control.spec import Work


class Args(NamedTuple):
    """The folder."""

    data_dir: Annotated[
        str | None,
        Arg("data folder of a stopped node; default: the running node's", "--data-dir", "folder", names="file"),
    ] = None


def run(node: Node, args: Args) -> "Work":
    """Read, and return what there is. Raises Refused when something is damaged."""
    assert node.tool is not None
    return node.tool.verify_log(args.data_dir)


def banner(args: Args) -> str:
    """Return the banner, which names the folder if one is given."""
    return (
        "Verifying the log of node {node} ..." if args.data_dir is None else "Verifying the data folder {data_dir} ..."
    )


COMMAND = Command(
    name="log_verify",
    section="Data",
    summary="Reads the whole durable log and all definitions and verifies every checksum",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    banner=banner,
    app="any",
    offline="held",
)
