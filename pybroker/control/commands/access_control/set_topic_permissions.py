"""set_topic_permissions: which routing keys a user may use at a topic exchange."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user, find_vhost
from pybroker.control.arguments.names import check_name
from pybroker.control.spec import Arg, Changed, Command, Node, Refused, VHostArg


class Args(NamedTuple):
    """The user, the exchange and two patterns."""

    username: Annotated[str, Arg("name of the user", names="user")]
    exchange: Annotated[str, Arg("topic exchange; it need not exist yet", names="exchange")]
    write: Annotated[str, Arg("pattern of the routing keys that may be published")]
    read: Annotated[str, Arg("pattern of the routing keys that may be bound")]
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse a name that is too long. Raises BadArguments."""
    check_name("an exchange", args.exchange)


def run(node: Node, args: Args) -> Changed:
    """Restrict. Raises Refused for an unknown name or a pattern that does not compile."""
    vhost = find_vhost(node.broker, args.vhost)
    user = find_user(node.broker, args.username)
    try:
        commit_position = node.broker.users.set_topic_permissions(
            user.name, vhost.name, args.exchange, args.write, args.read, cause=node.cause
        )
    except ValueError as error:
        raise Refused(f"a permission pattern is not a regular expression: {error}") from error
    vhost.bump()
    return Changed(commit_position)


COMMAND = Command(
    name="set_topic_permissions",
    section="Access Control",
    summary="Restricts the routing keys of a user for a topic exchange",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    check=check,
    banner='Setting topic permissions on "{exchange}" for user "{username}" in vhost "{vhost}" ...',
)
