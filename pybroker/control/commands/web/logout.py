"""logout: the end of a session that login has begun."""

from typing import Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node


class Args(NamedTuple):
    """The session."""

    handle: Annotated[str, Arg("handle of the session", secret=True)]


def run(node: Node, args: Args) -> None:
    """End it, if it has not ended."""
    node.daemon.web_sessions.end(args.handle)


COMMAND = Command(
    name="logout",
    section="Monitoring",
    summary="Ends a session of pybroker-web",
    args=Args,
    effect="read",
    access="none",
    run=run,
)
