"""set_permissions: set a user's configure, write and read patterns in a virtual host."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user, find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node, Refused, VHostArg


class Args(NamedTuple):
    """The user and three patterns."""

    username: Annotated[str, Arg("name of the user", names="user")]
    configure: Annotated[str, Arg("pattern of the names that may be declared and deleted", "", "conf")]
    write: Annotated[str, Arg("pattern of the names that may be published or bound to")]
    read: Annotated[str, Arg("pattern of the names that may be consumed or bound from")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Grant. Raises Refused for an unknown name or a pattern that does not compile."""
    vhost = find_vhost(node.broker, args.vhost)
    user = find_user(node.broker, args.username)
    try:
        commit_position = node.broker.users.set_permissions(
            user.name, vhost.name, args.configure, args.write, args.read, cause=node.cause
        )
    except ValueError as error:
        raise Refused(f"a permission pattern is not a regular expression: {error}") from error
    vhost.bump()
    return Changed(commit_position)


COMMAND = Command(
    name="set_permissions",
    section="Access Control",
    summary="Sets the permissions of a user in a virtual host",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Setting permissions for user "{username}" in vhost "{vhost}" ...',
)
