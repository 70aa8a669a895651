"""close_all_connections: close the connections of a virtual host, or all of the node."""

from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Changed, Command, Node, Progress, VHostArg

if TYPE_CHECKING:
    from collections.abc import Generator

    from pybroker.amqp.session import AmqpSession


class Args(NamedTuple):
    """The connections, how many, how fast, and the reason that clients are given."""

    reason: Annotated[str, Arg("reason sent to the clients and logged", "", "explanation")]
    vhost: VHostArg = "/"
    limit: Annotated[int, Arg("close at most this many; 0 closes all", "--limit")] = 0
    everywhere: Annotated[bool, Arg("connections of all virtual hosts", "--global")] = False
    delay_ms: Annotated[
        int, Arg("delay between two connections, in milliseconds", "--per-connection-delay", "delay")
    ] = 0


def check(args: Args) -> None:
    """Refuse numbers that cannot be. Raises BadArguments."""
    if args.limit < 0 or args.delay_ms < 0:
        raise BadArguments("Bad argument: --limit and --per-connection-delay must not be negative", EX_DATAERR)


def run(node: Node, args: Args) -> "Generator[Progress, None, Changed]":
    """Close them with 320, one a step; return how many. Raises Refused for an unknown virtual host."""
    vhost = None if args.everywhere else find_vhost(node.broker, args.vhost)
    sessions = cast("list[AmqpSession]", list(node.broker.sessions.values()))
    chosen = [session for session in sessions if vhost is None or session.vhost is vhost]
    chosen = [session for session in chosen if session.state not in {"header", "closing", "closed"}]
    if args.limit:
        chosen = chosen[: args.limit]
    for count, session in enumerate(chosen, 1):
        session.close(320, args.reason)
        if args.delay_ms:
            node.pause(args.delay_ms / 1000)
        yield Progress(count, len(chosen))
    return Changed(node.broker.definitions.commit_position, f"Closed {len(chosen)} connections")


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner for what is closed."""
    if args.everywhere:
        return "Closing all connections to node {node} (across all vhosts), reason: {reason}..."
    return f"Closing {'{limit}' if args.limit else 'all'} connections in vhost {{vhost}}, reason: {{reason}}..."


COMMAND = Command(
    name="close_all_connections",
    section="Operations",
    summary="Closes the connections of a virtual host or of the whole node",
    args=Args,
    effect="destroy",
    access="administrator",
    run=run,
    banner=banner,
    check=check,
)
