"""clear_permissions: take a user's permissions in a virtual host away."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user, find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node, VHostArg


class Args(NamedTuple):
    """The user."""

    username: Annotated[str, Arg("name of the user", names="user")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Take them away; open connections stay and are refused from now on. Raises Refused for an unknown name."""
    vhost = find_vhost(node.broker, args.vhost)
    user = find_user(node.broker, args.username)
    commit_position = node.broker.users.clear_permissions(user.name, vhost.name, node.cause)
    vhost.bump()
    return Changed(commit_position)


COMMAND = Command(
    name="clear_permissions",
    section="Access Control",
    summary="Revokes the permissions of a user in a virtual host",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Clearing permissions for user "{username}" in vhost "{vhost}" ...',
)
