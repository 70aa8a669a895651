"""config_check: the configuration files are checked as at a start, by a process of its own; no node is needed."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from pybroker.control.spec import Work


class Args(NamedTuple):
    """The configuration file."""

    config: Annotated[
        str | None,
        Arg(
            "file to check, with conf.d beside it; default: the usual one (config_diff reads those of a running node)",
            "--config",
            names="file",
        ),
    ] = None


def run(node: Node, args: Args) -> "Work":
    """Check, and return what the limits come to. Raises Refused with each fault: file, line, reason."""
    assert node.tool is not None
    return node.tool.check_config(args.config)


COMMAND = Command(
    name="config_check",
    section="Configuration",
    summary="Checks the configuration files as the daemon does at its start; needs no running node",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    banner="Checking the configuration ...",
    app="any",
    offline="alone",
)
