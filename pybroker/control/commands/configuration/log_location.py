"""log_location: where the node writes its log."""

from typing import Annotated, Any, NamedTuple

from pybroker.control.spec import EX_UNAVAILABLE, Arg, Command, Node, Refused


class Args(NamedTuple):
    """The first place, or all of them."""

    all: Annotated[bool, Arg("all destinations, including console and journal", "-a --all")] = False


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the places. Raises Refused when the node writes no log."""
    places = list(node.broker.settings.log_files)
    if not places:
        raise Refused("No log files configured on the node", EX_UNAVAILABLE)
    if not args.all:
        places = places[:1]
    return node.result("\n".join(places), paths=places)


COMMAND = Command(
    name="log_location",
    section="Configuration",
    summary="Displays the path of the node's log",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    banner="Log file location(s) on node {node} ...",
    app="any",
)
